"""What attention learns: trained heads, and one that is trained before your eyes."""
