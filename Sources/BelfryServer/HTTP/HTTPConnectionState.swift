import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// The requests of one connection: which one is read, which one is answered, and what waits behind it. A pure value;
/// `HTTPConnectionHandler` does what its methods return.
///
/// Requests are answered one after the other, and none is begun while the client leaves a response untaken. So a connection
/// holds one response, and of requests no more than one slice of `InboundGate` makes.
struct HTTPConnectionState {
    private enum Phase {
        /// Between two requests.
        case idle
        /// A request is read; nothing answers it yet.
        case reading(HTTPRequest, ByteBuffer)
        /// A request that came whole is answered.
        case answering
        /// A request is answered while its body comes.
        case receiving
        /// A request was answered before its body ended; the rest of the body is dropped.
        case skipping
        /// Nothing is read or answered any more.
        case ended
    }

    /// What the handler has to do.
    enum Action {
        /// Answer a request that came whole.
        case answer(HTTPRequest, body: ByteBuffer)
        /// Answer a request of which more comes.
        case answerBeginning(HTTPRequest, received: ByteBuffer)
        case appendBody(ByteBuffer)
        case endBody
        /// Close the connection, behind a last response if there is a status.
        case close(HTTPResponse.Status?)
    }

    private var phase = Phase.idle
    /// What came behind the request that is answered.
    private var waiting: CircularBuffer<HTTPRequestPart> = []
    /// Why nothing more is read.
    private var ending: Ending?
    private var isWritable = true
    private var isBodyFull = false
    /// The client, or the server, wants no response behind the one at hand.
    private var isLastRequest = false
    private var hasBegunResponse = false
    /// The client sends its body only once it is told to. Source: RFC 9110 §10.1.1.
    private(set) var awaitsContinue = false

    private enum Ending {
        /// The client sends no more, or is not listened to any more.
        case close
        /// The client sent what is not HTTP, or more than is read.
        case refuse(HTTPResponse.Status)
    }

    /// Whether more of what the client sent is to be parsed now.
    var wantsMore: Bool {
        guard !discards, waiting.isEmpty else { return false }
        return switch phase {
        case .idle, .reading: isWritable
        case .receiving: !isBodyFull
        case .skipping: true
        case .answering, .ended: false
        }
    }

    /// Whether what the client still sends is thrown away unparsed.
    var discards: Bool {
        if ending != nil { return true }
        return switch phase {
        case .ended: true
        case .answering: isLastRequest
        default: false
        }
    }

    /// Whether a handler works on a request.
    var isAnswering: Bool {
        switch phase {
        case .answering, .receiving: true
        default: false
        }
    }

    // MARK: What comes in

    mutating func received(_ part: HTTPRequestPart) -> Action? {
        if discards { return nil }
        guard waiting.isEmpty, canHear else {
            waiting.append(part)
            return nil
        }
        return hear(part)
    }

    /// All that came at once was received: a request whose rest is still under way is answered from its beginning.
    mutating func readCompleted() -> Action? {
        guard case .reading(let head, let body) = phase, ending == nil else { return nil }
        awaitsContinue = head.headerFields[.expect]?.lowercased() == "100-continue" && body.readableBytes == 0
        phase = .receiving
        return .answerBeginning(head, received: body)
    }

    /// The client sends no more.
    mutating func inputEnded() -> Action? { end(.close) }

    /// The client sent what cannot be read.
    mutating func refuse(with status: HTTPResponse.Status) -> Action? {
        // What comes behind the last request need not be HTTP.
        discards ? nil : end(.refuse(status))
    }

    /// The server stops: the request at hand is the last one.
    mutating func leave() -> Action? {
        guard isAnswering else { return end(.close) }
        isLastRequest = true
        return nil
    }

    mutating func bodyFilled() { isBodyFull = true }

    mutating func bodyDrained() { isBodyFull = false }

    // MARK: What goes out

    /// Returns whether the client is to be told to send its body.
    mutating func continueIfAwaited() -> Bool {
        defer { awaitsContinue = false }
        return awaitsContinue && isAnswering
    }

    /// A final response begins. Returns whether it is the last one of the connection.
    ///
    /// A client that was not told to send its body may send it or not, so what follows could not be told from a body.
    mutating func responseBegins() -> Bool {
        hasBegunResponse = true
        if awaitsContinue { isLastRequest = true }
        if isLastRequest { return true }
        if case .close = ending { return waiting.isEmpty }
        return false
    }

    /// The response is written, as far as the connection takes it.
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
            // What could not be read behind the last request does not matter; what could not be read of it does.
            if hasBegunResponse || ending == nil { ending = .close }
        }
        hasBegunResponse = false
        return next()
    }

    mutating func writabilityChanged(to isWritable: Bool) -> Action? {
        self.isWritable = isWritable
        return isWritable ? next() : nil
    }

    // MARK: One part after the other

    private var canHear: Bool {
        switch phase {
        case .idle, .reading: isWritable
        case .receiving, .skipping: true
        case .answering, .ended: false
        }
    }

    private mutating func next() -> Action? {
        while canHear, let part = waiting.popFirst() {
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
    /// Whether the client wants no response behind this one. Source: RFC 9110 §7.6.1, a list whose words know no case.
    fileprivate var isLast: Bool {
        guard let options = headerFields[.connection] else { return false }
        return options.lowercased().split { $0 == "," || $0.isWhitespace }.contains("close")
    }
}
