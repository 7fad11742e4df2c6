/// One stream of a connection: an incoming request and its outgoing answer.
///
/// Occupies a slot that its connection reuses for later streams, so that the fast path allocates nothing.
struct HTTP2Stream {
    typealias Slot = UnsafeMutablePointer<HTTP2Stream>

    var id: Int32 = 0
    var answerBody: [UInt8] = []
    var answerSent = 0

    /// The stream exists.
    var isOpen = false
    /// Its answer was handed to nghttp2, or it was reset.
    var isAnswered = false
    /// It is in the delay line, which keeps the slot even when the stream is gone.
    var isDelayed = false
    /// The body of its answer never comes.
    var isStalled = false

    /// The provider's state of the request; see ``HTTP2Connection/makeRequest(on:)``.
    var request: UnsafeMutableRawPointer?

    /// Makes the slot ready for another stream.
    mutating func begin(_ id: Int32) {
        self.id = id
        answerSent = 0
        isOpen = true
        isAnswered = false
        isStalled = false
    }
}
