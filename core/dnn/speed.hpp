#pragma once

namespace headlab::dnn {

/// Floating-point operations a second, a multiply-add counting as two, of a product of 128 x 128 by 128 x 256
/// floats in a thread of its own: the best of some 50 ms, once its code is made.
double product_speed();

}  // namespace headlab::dnn
