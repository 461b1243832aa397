# Reads a problem as glmnet.py writes it, fits it three times (once if that is slow), writes weights and median seconds.
suppressPackageStartupMessages(library(glmnet))
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]; family <- arguments[2]; thresh <- as.numeric(arguments[3])
at <- function(name) file.path(folder, name)
numbers <- function(name, what = "double") readBin(at(name), what, file.size(at(name)) / ifelse(what == "double", 8, 4))

shape <- numbers("shape", "integer"); m <- shape[1]; n <- shape[2]; k <- shape[3]
x <- if (file.exists(at("p"))) {
  new("dgCMatrix", i = numbers("i", "integer"), p = numbers("p", "integer"), x = numbers("x"), Dim = c(m, n))
} else matrix(numbers("x"), m, n)
y <- numbers("y")
if (family == "mgaussian") y <- matrix(y, m, k)
lambda <- numbers("lambda")

fit <- function() glmnet(
  x, y, family = family, lambda = lambda, standardize = FALSE, intercept = FALSE, thresh = thresh, maxit = 1e7,
  standardize.response = FALSE, type.multinomial = "grouped"
)
glmnet.control(fdev = 0, devmax = 1)
timed <- function() sum(system.time(model <<- suppressWarnings(fit()))[1:2])  # CPU seconds
seconds <- timed()
if (seconds < 10) seconds <- median(c(seconds, timed(), timed()))
beta <- if (is.list(model$beta)) model$beta else list(model$beta)
if (ncol(beta[[1]]) != length(lambda)) stop("the path was cut short")
coefs <- vapply(seq_along(lambda), function(a) vapply(beta, function(b) as.numeric(b[, a]), numeric(n)), matrix(0, n, length(beta)))
writeBin(as.numeric(coefs), at("coefs"))
writeBin(as.numeric(seconds), at("seconds"))
