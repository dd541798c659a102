"""One more sweeper, without a pause between its passes: `python -m bench.faults.sweeping`. It meets the workers' own."""

import time

import django

PAUSE_S = 0.05


def main() -> None:
    django.setup()
    from django.db import DatabaseError, connection

    from scores.engine import drains
    from scores.engine.sweep import sweep

    passes = 0
    while True:
        try:
            for grader_id in sweep(passes=passes):
                drains.drain(grader_id)
        except DatabaseError as exc:
            print(f"sweep: {exc}", flush=True)
        finally:
            connection.close()
        passes += 1
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
