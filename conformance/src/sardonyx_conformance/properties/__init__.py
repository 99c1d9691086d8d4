"""Properties that hold for all inputs, tried on inputs that hypothesis invents."""
