"""What the overview is made of: what needs the person now, how things go over time, and the first steps."""
