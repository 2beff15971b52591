"""Runs of robots as bodies, joints, drives and heat."""

from .ledger import Ledger, Line, exergy_ledger

__all__ = ["Ledger", "Line", "exergy_ledger"]
