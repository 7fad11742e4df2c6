package org.belfry

import java.util.Random

/** How long to wait after failures: twice as long after each, by chance from half of that, so that devices do not return all at once. */
internal class Backoff(private val random: Random) {
    private var failures = 0

    fun reset() {
        failures = 0
    }

    /** Milliseconds until the next attempt; at least what the server asked for, and at most [longest]. */
    fun next(retryAfterSeconds: Long?): Long {
        val most = minOf(longest, shortest shl minOf(failures, 16))
        failures = minOf(failures + 1, 16)
        val own = most / 2 + spread(most / 2)
        val asked = minOf(longest / 1_000, maxOf(0, retryAfterSeconds ?: 0)) * 1_000
        return if (asked > own) minOf(longest, asked + spread(shortest)) else own
    }

    /** A moment within a while, for reports that nobody waits for: a push reaches many devices at once. */
    fun spread(milliseconds: Long): Long = (random.nextDouble() * milliseconds).toLong()

    companion object {
        const val shortest = 10_000L
        const val longest = 3_600_000L
    }
}
