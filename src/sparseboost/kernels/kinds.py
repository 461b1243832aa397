"""Small integers by which compiled code tells losses, penalties and step rules apart."""

LOGISTIC, EXPONENTIAL, SOFTMAX, RESIDUAL, EPS_INSENSITIVE, PAIRWISE, HINGE, QUANTILE = range(8)
L1, L1_L2, L1_LINF, RIDGE, SMOOTH_L1, NO_PENALTY = range(6)
FORWARD, LINE_SEARCH, OPEN_LOOP, CONSTANT, AWAY = range(5)
