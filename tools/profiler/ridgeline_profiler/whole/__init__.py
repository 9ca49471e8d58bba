"""Decoder layers and forward passes with random weights: what the sum of the operators is compared with."""
