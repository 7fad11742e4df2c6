import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Testing

@testable import BelfryServer

/// Requests that arrive on a connection, without a network.
@Suite struct HTTPConnectionStateTests {
    private static let head = HTTPRequestPart.head(
        HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/"))

    private static func head(_ name: HTTPField.Name, _ value: String) -> HTTPRequestPart {
        .head(HTTPRequest(method: .post, scheme: "http", authority: "a", path: "/", headerFields: [name: value]))
    }

    private static func body(_ text: String) -> HTTPRequestPart { .body(ByteBuffer(string: text)) }

    /// A connection on which these parts have come.
    private static func connection(after parts: [HTTPRequestPart] = []) -> Connection {
        let connection = Connection()
        connection.actions = parts.compactMap { connection.received($0) }
        return connection
    }

    @Test func `a complete request is answered without reading meanwhile`() {
        let state = Self.connection(after: [Self.head, Self.body("a"), Self.body("b"), .end(nil)])
        #expect(state.actions == ["answer ab"])
        #expect(state.isAnswering)
        #expect(!state.wantsMore)
    }

    @Test func `requests behind one another are answered in turn`() {
        let state = Self.connection(after: [Self.head, .end(nil), Self.head, Self.body("2"), .end(nil)])
        #expect(state.actions == ["answer "])
        #expect(state.answered() == "answer 2")
        #expect(state.answered() == nil)
        #expect(state.wantsMore)
    }

    @Test func `no request begins while a response is untaken`() {
        let state = Self.connection(after: [Self.head, .end(nil), Self.head, .end(nil)])
        #expect(state.writabilityChanged(to: false) == nil)
        #expect(state.answered() == nil)
        #expect(!state.wantsMore)
        #expect(state.writabilityChanged(to: true) == "answer ")
    }

    @Test func `a request is answered early while its body streams`() {
        let state = Self.connection(after: [Self.head, Self.body("a")])
        #expect(state.readCompleted() == "begin a")
        #expect(state.wantsMore)
        #expect(state.received(Self.body("b")) == "append b")
        state.bodyFilled()
        #expect(!state.wantsMore)
        state.bodyDrained()
        #expect(state.wantsMore)
        #expect(state.received(.end(nil)) == "end of body")
        #expect(state.answered() == nil)
    }

    @Test func `an answered body's rest is dropped, the next request read`() {
        let state = Self.connection(after: [Self.head, Self.body("a")])
        _ = state.readCompleted()
        #expect(state.answered() == nil)
        #expect(state.wantsMore)
        #expect(state.received(Self.body("b")) == nil)
        #expect(state.received(.end(nil)) == nil)
        #expect(state.received(Self.head) == nil)
        #expect(state.received(.end(nil)) == "answer ")
    }

    @Test func `a client refused before its body is not read further`() {
        let state = Self.connection(after: [Self.head(.expect, "100-continue")])
        #expect(state.readCompleted() == "begin ")
        #expect(state.responseBegins())
        #expect(state.answered() == "close")
        #expect(state.discards)
    }

    @Test func `a client told to send its body continues`() {
        let state = Self.connection(after: [Self.head(.expect, "100-continue")])
        _ = state.readCompleted()
        #expect(state.continueIfAwaited())
        #expect(!state.continueIfAwaited())
        _ = state.received(Self.body("a"))
        _ = state.received(.end(nil))
        #expect(!state.responseBegins())
        #expect(state.answered() == nil)
        #expect(state.wantsMore)
    }

    @Test func `nothing behind a request that says close is read`() {
        let state = Self.connection(after: [Self.head(.connection, "TE, Close"), .end(nil), Self.head, .end(nil)])
        #expect(state.actions == ["answer "])
        #expect(state.discards)
        #expect(state.refuse(with: .badRequest) == nil)
        #expect(state.responseBegins())
        #expect(state.answered() == "close")
    }

    @Test func `a half-closed client gets every response, the last marked`() {
        let state = Self.connection(after: [Self.head, .end(nil), Self.head, .end(nil)])
        #expect(state.inputEnded() == nil)
        #expect(!state.responseBegins())
        #expect(state.answered() == "answer ")
        #expect(state.responseBegins())
        #expect(state.answered() == "close")
    }

    @Test func `malformed HTTP is refused after earlier responses`() {
        let state = Self.connection(after: [Self.head, .end(nil)])
        #expect(state.refuse(with: .badRequest) == nil)
        #expect(state.discards)
        #expect(!state.responseBegins())
        #expect(state.answered() == "close 400")
        #expect(state.refuse(with: .badRequest) == nil)
    }

    @Test func `a request that is cut off is not answered`() {
        let state = Self.connection(after: [Self.head, Self.body("a")])
        #expect(state.inputEnded() == "close")
        #expect(state.readCompleted() == nil)
        #expect(state.received(.end(nil)) == nil)
    }

    @Test func `a stopping server closes idle connections, busy ones after responses`() {
        let idle = Self.connection()
        #expect(idle.leave() == "close")
        let busy = Self.connection(after: [Self.head, Self.body("a")])
        _ = busy.readCompleted()
        #expect(busy.leave() == nil)
        #expect(busy.wantsMore)
        #expect(busy.received(.end(nil)) == "end of body")
        #expect(busy.responseBegins())
        #expect(busy.answered() == "close")
    }
}

/// A state, whose answers are words.
private final class Connection {
    private var state = HTTPConnectionState()
    var actions: [String] = []

    var isAnswering: Bool { state.isAnswering }
    var wantsMore: Bool { state.wantsMore }
    var discards: Bool { state.discards }

    func received(_ part: HTTPRequestPart) -> String? { state.received(part)?.words }
    func readCompleted() -> String? { state.readCompleted()?.words }
    func inputEnded() -> String? { state.inputEnded()?.words }
    func refuse(with status: HTTPResponse.Status) -> String? { state.refuse(with: status)?.words }
    func leave() -> String? { state.leave()?.words }
    func answered() -> String? { state.answered()?.words }
    func writabilityChanged(to isWritable: Bool) -> String? { state.writabilityChanged(to: isWritable)?.words }
    func responseBegins() -> Bool { state.responseBegins() }
    func continueIfAwaited() -> Bool { state.continueIfAwaited() }
    func bodyFilled() { state.bodyFilled() }
    func bodyDrained() { state.bodyDrained() }
}

extension HTTPConnectionState.Action {
    fileprivate var words: String {
        switch self {
        case .answer(_, let body): "answer \(String(buffer: body))"
        case .answerBeginning(_, let received): "begin \(String(buffer: received))"
        case .appendBody(let bytes): "append \(String(buffer: bytes))"
        case .endBody: "end of body"
        case .close(let status): status.map { "close \($0.code)" } ?? "close"
        }
    }
}
