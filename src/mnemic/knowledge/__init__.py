"""What is made of messages: pure functions, without a model."""
