"""The wire protocol with endpoint graders, as pure functions: it knows nothing of models, queues or connections."""
