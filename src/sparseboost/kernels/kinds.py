"""Small integers by which compiled code tells losses and penalties apart."""

LOGISTIC, EXPONENTIAL, SOFTMAX, RESIDUAL, EPS_INSENSITIVE = range(5)
L1, L1_L2, L1_LINF, RIDGE, SMOOTH_L1, NO_PENALTY = range(6)
