import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// The requests of one connection: which one is being read, which one is being answered, and what waits. A pure value;
/// `HTTPConnectionHandler` performs the actions that its methods return.
///
/// Requests are answered one after the other, and none is begun while the client has not read a response. So a
/// connection holds one response, and the requests of at most one slice of `InboundGate`.
struct HTTPConnectionState {
    private enum Phase {
        /// Between two requests.
        case idle
        /// A request is being read; it has no handler yet.
        case reading(HTTPRequest, ByteBuffer)
        /// A request that arrived whole is being answered.
        case answering
        /// A request is being answered while its body arrives.
        case receiving
        /// A request was answered before its body ended; the rest of the body is discarded.
        case skipping
        /// Nothing is read or answered any more.
        case ended
    }

    enum Action {
        /// Answer a request that arrived whole.
        case answer(HTTPRequest, body: ByteBuffer)
        /// Answer a request whose rest is still to arrive.
        case answerBeginning(HTTPRequest, received: ByteBuffer)
        case appendBody(ByteBuffer)
        case endBody
        /// Close the connection, after a last response if there is a status.
        case close(HTTPResponse.Status?)
    }

    private var phase = Phase.idle
    /// Parts that arrived after the current request. An empty list keeps no memory: most connections are idle.
    private var waiting: ArraySlice<HTTPRequestPart> = []
    /// Why nothing more is read.
    private var ending: Ending?
    private var isWritable = true
    private var isBodyFull = false
    /// The client, or the server, wants no response after the current one.
    private var isLastRequest = false
    private var hasBegunResponse = false
    /// The client sends its body only when asked to. Source: RFC 9110 §10.1.1.
    private(set) var awaitsContinue = false

    private enum Ending {
        /// The client sends no more, or is ignored from now on.
        case close
        /// The client sent something that is not HTTP, or more than allowed.
        case refuse(HTTPResponse.Status)
    }

    /// Whether more of the received bytes should be parsed now.
    var wantsMore: Bool {
        guard !discards, waiting.isEmpty else { return false }
        return switch phase {
        case .idle, .reading: isWritable
        case .receiving: !isBodyFull
        case .skipping: true
        case .answering, .ended: false
        }
    }

    /// Whether further received bytes are discarded unparsed.
    var discards: Bool {
        if ending != nil { return true }
        return switch phase {
        case .ended: true
        case .answering: isLastRequest
        default: false
        }
    }

    var isAnswering: Bool {
        switch phase {
        case .answering, .receiving: true
        default: false
        }
    }

    // MARK: Inbound

    mutating func received(_ part: HTTPRequestPart) -> Action? {
        if discards { return nil }
        guard waiting.isEmpty, canHear else {
            waiting.append(part)
            return nil
        }
        return hear(part)
    }

    /// Everything available was received: a request that is still incomplete is answered from its beginning.
    mutating func readCompleted() -> Action? {
        guard case .reading(let head, let body) = phase, ending == nil else { return nil }
        awaitsContinue = head.headerFields[.expect]?.lowercased() == "100-continue" && body.readableBytes == 0
        phase = .receiving
        return .answerBeginning(head, received: body)
    }

    mutating func inputEnded() -> Action? { end(.close) }

    /// The client sent something unreadable.
    mutating func refuse(with status: HTTPResponse.Status) -> Action? {
        // What follows the last request need not be HTTP.
        discards ? nil : end(.refuse(status))
    }

    /// The server stops: the current request is the last one.
    mutating func leave() -> Action? {
        guard isAnswering else { return end(.close) }
        isLastRequest = true
        return nil
    }

    mutating func bodyFilled() { isBodyFull = true }

    mutating func bodyDrained() { isBodyFull = false }

    // MARK: Outbound

    /// Returns whether the client must be told to send its body.
    mutating func continueIfAwaited() -> Bool {
        defer { awaitsContinue = false }
        return awaitsContinue && isAnswering
    }

    /// A final response begins. Returns whether it is the last one of the connection.
    ///
    /// A client that was not told to send its body may send it or not, so a following request could not be told from a
    /// body.
    mutating func responseBegins() -> Bool {
        hasBegunResponse = true
        if awaitsContinue { isLastRequest = true }
        if isLastRequest { return true }
        if case .close = ending { return waiting.isEmpty }
        return false
    }

    /// The response is written, as far as the connection accepts it.
    mutating func answered() -> Action? {
        switch phase {
        case .answering: phase = .idle
        case .receiving: phase = .skipping
        default: break
        }
        isBodyFull = false
        awaitsContinue = false
        if isLastRequest {
            waiting = []
            // Bytes that could not be read after the last request do not matter; bytes of that request do.
            if hasBegunResponse || ending == nil { ending = .close }
        }
        hasBegunResponse = false
        return next()
    }

    mutating func writabilityChanged(to isWritable: Bool) -> Action? {
        self.isWritable = isWritable
        return isWritable ? next() : nil
    }

    // MARK: Parts in sequence

    private var canHear: Bool {
        switch phase {
        case .idle, .reading: isWritable
        case .receiving, .skipping: true
        case .answering, .ended: false
        }
    }

    private mutating func next() -> Action? {
        while canHear, let part = waiting.popFirst() {
            if waiting.isEmpty { waiting = [] }
            if let action = hear(part) { return action }
        }
        return closeIfDue()
    }

    private mutating func hear(_ part: HTTPRequestPart) -> Action? {
        switch (part, phase) {
        case (.head(let head), .idle):
            isLastRequest = head.isLast
            phase = .reading(head, ByteBuffer())
        case (.body(let bytes), .reading(let head, var body)):
            phase = .idle
            body.append(bytes)
            phase = .reading(head, body)
        case (.body(let bytes), .receiving):
            awaitsContinue = false
            return .appendBody(bytes)
        case (.end, .reading(let head, let body)):
            phase = .answering
            return .answer(head, body: body)
        case (.end, .receiving):
            phase = .answering
            return .endBody
        case (.end, .skipping): phase = .idle
        default: break
        }
        return nil
    }

    private mutating func end(_ ending: Ending) -> Action? {
        self.ending = self.ending ?? ending
        return closeIfDue()
    }

    private mutating func closeIfDue() -> Action? {
        guard let ending, waiting.isEmpty else { return nil }
        switch phase {
        case .answering, .receiving, .ended: return nil
        case .idle, .reading, .skipping: phase = .ended
        }
        if case .refuse(let status) = ending { return .close(status) }
        return .close(nil)
    }
}

extension HTTPRequest {
    /// Whether the client wants no response after this one. Source: RFC 9110 §7.6.1, a list that is not case-sensitive.
    fileprivate var isLast: Bool {
        guard let options = headerFields[.connection] else { return false }
        return options.lowercased().split { $0 == "," || $0.isWhitespace }.contains("close")
    }
}
