"""The wire protocol with endpoint graders, as pure functions without models, queues or connections."""
