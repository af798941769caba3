"""Who asks, and what he may do and how much of it: the decisions of security, without any IO."""
