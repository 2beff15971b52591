"""The potential energies that the laws shape."""
