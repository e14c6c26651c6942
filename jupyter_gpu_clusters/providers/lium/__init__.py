"""Lium: bare nodes on one InfiniBand or RoCE fabric, rented all or nothing."""
