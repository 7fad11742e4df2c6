package org.belfry

/** A reason why something could not be done now. None is fatal: what the app wants is kept. */
sealed class BelfryError(message: String) : Exception(message) {
    /** No answer: offline, or a time-out. */
    class Unreachable(reason: String) : BelfryError("the server does not answer: $reason")

    /** The server is there and has no time. */
    class Busy(val retryAfterSeconds: Long?) : BelfryError("the server asks to wait")

    /** The platform's UUID or secret is wrong. */
    class Unauthorized : BelfryError("the server does not know the platform's UUID and secret")

    /** The server refuses the request and says why. The same request would be refused again. */
    class Refused(val status: Int, val reason: String) : BelfryError("the server answered $status: $reason")

    /** The answer is none of a Belfry: of a proxy without its server, or of a network that wants a login. */
    class Unreadable(reason: String) : BelfryError("the answer cannot be read: $reason")

    /** The SDK's folder cannot be written. */
    class Storage(reason: String) : BelfryError("the folder cannot be written: $reason")

    /** The server does not know this device yet. */
    class Unregistered : BelfryError("the device is not registered")

    /** More calls wait than are kept. */
    class Overloaded : BelfryError("too many calls wait")

    /** Whether the same request may do later what it did not now. */
    val isTemporary: Boolean get() = this is Unreachable || this is Busy || this is Unreadable || this is Storage || this is Overloaded
}

/** Changes that the SDK reports to an app that listens. */
sealed class BelfryChange {
    /** The server knows this device as the app wants it. */
    data class Registered(val device: String) : BelfryChange()

    object Unregistered : BelfryChange()

    /** The server could not do what the app wants, which is kept. */
    data class Failed(val error: BelfryError) : BelfryChange()

    data class Received(val message: PushMessage) : BelfryChange()
}
