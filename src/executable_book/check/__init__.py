"""What pages say is checked at every build."""
