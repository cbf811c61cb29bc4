"""Attention that leaves most scores out: Linformer, BigBird, synthesizers."""
