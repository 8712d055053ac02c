"""Tensors -> tensors: channel mask, encoders, heads, losses, weight regularisers."""
