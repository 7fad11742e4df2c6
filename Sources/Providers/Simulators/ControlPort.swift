import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

/// The HTTP/1.1 port for scripting and querying a simulator. It carries no secrets and requires none: it listens where
/// the simulator does.
enum ControlPort {
    static func open(
        host: String, port: Int, group: any EventLoopGroup, routes: @escaping ControlRoutes
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(ControlHandler(routes: routes))
                }
            }
            .bind(host: host, port: port).get()
    }
}

/// Answers one request of the control port.
typealias ControlRoutes = @Sendable (ControlRequest) async -> ControlAnswer

struct ControlRequest: Sendable {
    var method: String
    /// The path split at its slashes.
    var path: [String]
    var query: [String: String]
    var body: [UInt8]

    init(method: String, uri: String, body: [UInt8]) {
        let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = method
        self.path = (parts.first ?? "").split(separator: "/").map(String.init)
        self.query = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            if let name = sides.first { query[name] = sides.count > 1 ? sides[1] : "" }
        }
        self.body = body
    }
}

struct ControlAnswer: Sendable {
    var status: Int
    var body: [UInt8]
}

private final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// A script may name a million tokens.
    private static let bodyBytesMax = 256 * 1024 * 1024
    private let routes: ControlRoutes
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(routes: @escaping ControlRoutes) {
        self.routes = routes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let bytes):
            guard body.count + bytes.readableBytes <= Self.bodyBytesMax else { return context.close(promise: nil) }
            body.append(contentsOf: bytes.readableBytesView)
        case .end:
            guard let head else { return }
            answer(ControlRequest(method: head.method.rawValue, uri: head.uri, body: body), head, context)
            body = []
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ request: ControlRequest, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let routes = routes
        let promise = context.eventLoop.makePromise(of: ControlAnswer.self)
        promise.completeWithTask { await routes(request) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenSuccess { answer in
            let (handler, context) = bound.value
            handler.write(answer, head, context)
        }
    }

    private func write(_ answer: ControlAnswer, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let fields: HTTPHeaders = [
            "content-type": "application/json", "content-length": "\(answer.body.count)",
        ]
        let response = HTTPResponseHead(
            version: head.version, status: .init(statusCode: answer.status), headers: fields)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !head.isKeepAlive { context.close(promise: nil) }
    }
}

/// The control port of a simulated provider: see `docs/Simulators.md`.
struct ServiceControl<S: SimulatedProvider>: Sendable {
    let simulator: ServiceSimulator<S>

    var routes: ControlRoutes {
        { request in
            do { return try await answer(request) } catch let error as ControlError { return error.answer } catch {
                return ControlError(status: 500, message: "\(error)").answer
            }
        }
    }

    private func answer(_ request: ControlRequest) async throws -> ControlAnswer {
        switch (request.method, request.path.first) {
        case ("GET", "health"): return try .json(["status": "ok"])
        case (_, "script"): return try await script(request)
        case (_, "ledger"): return try ledger(request)
        case ("POST", "connections"):
            try await simulator.act(try StrictJSON.decode(ServiceFault.Then.self, from: request.body))
            return .empty
        case ("PUT", "listener"):
            if try StrictJSON.decode(Listener.self, from: request.body).open {
                try await simulator.resumeListening()
            } else {
                try await simulator.stopListening()
            }
            return .empty
        default: throw ControlError(status: 404, message: "no such path")
        }
    }

    private struct Listener: Codable {
        var open: Bool
    }
}

// MARK: - Script

extension ServiceControl {
    private func script(_ request: ControlRequest) async throws -> ControlAnswer {
        let currentScript = simulator.script
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(currentScript.script)
        case ("GET", ["happened"]): return try .json(currentScript.timesHappened)
        case ("PUT", []):
            let script = try StrictJSON.decode(ServiceScript.self, from: request.body)
            try refuse(script.complaint(grammar))
            currentScript.set(script)
        case ("POST", ["faults"]):
            let fault = try StrictJSON.decode(ServiceFault.self, from: request.body)
            try refuse(fault.complaint(grammar))
            currentScript.add(fault)
        case ("POST", ["verdicts"]):
            let verdicts = try StrictJSON.decode([String: ScriptedAnswer].self, from: request.body)
            try refuse(ServiceScript(verdicts: verdicts).complaint(grammar))
            currentScript.answer(verdicts)
        case ("DELETE", []):
            currentScript.clear()
            try await simulator.resumeListening()
        default: throw ControlError(status: 404, message: "no such path")
        }
        return .empty
    }

    private var grammar: ScriptGrammar {
        ScriptGrammar(tokenText: S.tokenText) { simulator.service.answer(for: $0) != nil }
    }

    private func refuse(_ complaint: (field: String, message: String)?) throws {
        guard let complaint else { return }
        throw ControlError(status: 400, field: complaint.field, message: complaint.message)
    }
}

// MARK: - Ledger

extension ServiceControl {
    private func ledger(_ request: ControlRequest) throws -> ControlAnswer {
        let ledger = simulator.ledger
        let after = try request.query["after"].flatMap { $0.isEmpty ? nil : try token($0, of: "after") }
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(ledger.totals())
        case ("GET", ["tokens"]): return try .json(ledger.tokens(after: after, limit: try limit(request)))
        case ("GET", ["duplicates"]): return try .json(ledger.duplicates(after: after, limit: try limit(request)))
        case ("GET", let path) where path.count == 2 && path[0] == "tokens":
            guard let known = ledger.token(try token(path[1], of: "token")) else {
                throw ControlError(status: 404, message: "no such token")
            }
            return try .json(known)
        case ("DELETE", []):
            ledger.reset()
            return .empty
        default: throw ControlError(status: 404, message: "no such path")
        }
    }

    private func token(_ encoded: String, of field: String) throws -> [UInt8] {
        let text = FormText.decode(Substring(encoded), plusIsSpace: false)
        guard let token = S.tokenText.bytes(of: text) else {
            throw ControlError(status: 400, field: field, message: "is not a token in hex")
        }
        return token
    }

    private func limit(_ request: ControlRequest) throws -> Int {
        guard let text = request.query["limit"] else { return 1000 }
        guard let limit = Int(text), (1...100_000).contains(limit) else {
            throw ControlError(status: 400, field: "limit", message: "is not a number from 1 to 100000")
        }
        return limit
    }
}

/// Why the control port refused a request.
struct ControlError: Error {
    var status: Int
    var field: String?
    var message: String

    var answer: ControlAnswer {
        let body = ["error": message].merging(field.map { ["field": $0] } ?? [:]) { first, _ in first }
        return (try? .json(body, status: status)) ?? ControlAnswer(status: status, body: [])
    }
}

extension ControlAnswer {
    static let empty = ControlAnswer(status: 204, body: [])

    static func json(_ value: some Encodable, status: Int = 200) throws -> ControlAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ControlAnswer(status: status, body: Array(try encoder.encode(value)))
    }
}

/// Strict JSON without unknown keys: a misspelt condition would otherwise match every request.
enum StrictJSON {
    static func decode<T: Codable>(_ type: T.Type, from bytes: [UInt8]) throws(ControlError) -> T {
        do {
            let value = try JSONDecoder().decode(type, from: Data(bytes))
            let given = try JSONDecoder().decode(Value.self, from: Data(bytes))
            let understood = try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
            if let unknown = given.firstKey(notIn: understood) {
                throw ControlError(status: 400, field: unknown, message: "is not known")
            }
            return value
        } catch {
            if let error = error as? DecodingError { throw ControlError(error) }
            throw error as? ControlError ?? ControlError(status: 400, message: "\(error)")
        }
    }

    /// The keys of a JSON value.
    private indirect enum Value: Decodable {
        case object([String: Value])
        case list([Value])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .other
            } else if let object = try? container.decode([String: Value].self) {
                self = .object(object)
            } else if let list = try? container.decode([Value].self) {
                self = .list(list)
            } else {
                self = .other
            }
        }

        func firstKey(notIn known: Value) -> String? {
            switch (self, known) {
            case (.object(let given), .object(let known)):
                for (key, value) in given.sorted(by: { $0.key < $1.key }) {
                    guard let match = known[key] else { return key }
                    if let inner = value.firstKey(notIn: match) { return "\(key).\(inner)" }
                }
                return nil
            case (.list(let given), .list(let known)):
                for (index, pair) in zip(given, known).enumerated() {
                    if let inner = pair.0.firstKey(notIn: pair.1) { return "\(index).\(inner)" }
                }
                return nil
            default: return nil
            }
        }
    }
}

extension ControlError {
    init(_ error: DecodingError) {
        let (context, missing, problem): (DecodingError.Context, (any CodingKey)?, String) =
            switch error {
            case .keyNotFound(let key, let context): (context, key, "is missing")
            case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
                (context, nil, "has to be \(Self.word(for: type))")
            case .dataCorrupted(let context): (context, nil, context.debugDescription)
            @unknown default: (.init(codingPath: [], debugDescription: ""), nil, "\(error)")
            }
        let path = (context.codingPath + [missing].compactMap { $0 })
            .map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        self.init(status: 400, field: path.isEmpty ? nil : path, message: problem)
    }

    private static func word(for type: Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Int.Type, is Int64.Type, is Int32.Type, is UInt32.Type, is UInt64.Type: "a whole number"
        case is Double.Type: "a number"
        case let type where "\(type)".hasPrefix("Array"): "an array"
        default: "an object, such as {\"hang\": {}} for then: docs/Simulators.md"
        }
    }
}
