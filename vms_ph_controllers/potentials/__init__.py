"""The potential energies that laws give to a robot."""
