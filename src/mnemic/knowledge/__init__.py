"""Knowledge: messages to episodes, memories, links and supersessions."""
