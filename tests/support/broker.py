"""A broker in memory in the place of the real one, so that a test sees the messages that were published."""

from contextlib import contextmanager
from queue import Empty

from celery import current_app


class Messages:
    """What was published and not yet read, oldest first: (job, *arguments)."""

    def __init__(self, app):
        self.app = app

    def take(self):
        messages = []
        with self.app.connection_for_read() as connection:
            queue = connection.SimpleQueue(self.app.conf.task_default_queue)
            try:
                while True:
                    message = queue.get_nowait()
                    message.ack()
                    messages.append((message.headers["task"], *message.payload[0]))
            except Empty:
                return messages
            finally:
                queue.close()


@contextmanager
def broker(url):
    """Publish to the broker at `url` within the block."""
    app = current_app._get_current_object()
    before = app.conf.broker_url
    app.conf.broker_url = url
    app.amqp._producer_pool = None
    try:
        yield app
    finally:
        app.conf.broker_url = before
        app.amqp._producer_pool = None


@contextmanager
def memory_broker():
    with broker("memory://") as app:
        messages = Messages(app)
        messages.take()  # kombu's memory outlives a test
        yield messages
