#pragma once

/// Bytes that are in use now, all threads together; the peak begins again from here.
long allocationsBegin(void);
/// Bytes that are in use now.
long allocationsNow(void);
/// The most bytes that were in use at a time since `allocationsBegin`.
long allocationsPeak(void);
