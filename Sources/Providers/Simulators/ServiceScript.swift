/// The deviations of a simulated provider from proper answers. The same type in process and on the control port.
package struct ServiceScript: Sendable, Codable, Equatable {
    /// Tried in order for each request; see ``ServiceFault``.
    package var faults: [ServiceFault]
    /// The answer for single devices, by token.
    package var verdicts: [String: ScriptedAnswer]
    /// The latency of each answer.
    package var latencyMilliseconds: Int

    package init(
        faults: [ServiceFault] = [], verdicts: [String: ScriptedAnswer] = [:], latencyMilliseconds: Int = 0
    ) {
        self.faults = faults
        self.verdicts = verdicts
        self.latencyMilliseconds = latencyMilliseconds
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        faults = try container.decodeIfPresent([ServiceFault].self, forKey: .faults) ?? []
        verdicts = try container.decodeIfPresent([String: ScriptedAnswer].self, forKey: .verdicts) ?? [:]
        latencyMilliseconds = try container.decodeIfPresent(Int.self, forKey: .latencyMilliseconds) ?? 0
    }

    /// The fault of an invalid script: the path of the field and what was found.
    func complaint(_ grammar: ScriptGrammar) -> (field: String, message: String)? {
        if latencyMilliseconds < 0 { return ("latencyMilliseconds", "is negative") }
        for (token, answer) in verdicts {
            if grammar.tokenText.bytes(of: token) == nil { return ("verdicts.\(token)", "is not a token in hex") }
            if let (field, message) = answer.complaint(grammar) { return ("verdicts.\(token).\(field)", message) }
        }
        for (index, fault) in faults.enumerated() {
            if let (field, message) = fault.complaint(grammar) { return ("faults.\(index).\(field)", message) }
        }
        return nil
    }
}

/// The limits of a script for one provider.
struct ScriptGrammar {
    let tokenText: Ledger.TokenText
    /// Whether the provider has this reason.
    let isKnown: (String) -> Bool

    /// Only Apple has topics beside its tokens, and a time in its answers.
    var isApple: Bool { tokenText == .hex }
}

/// An answer in a script: one of the provider's own by its reason, with changes where more is given.
///
/// ```json
/// {"reason": "QUOTA_EXCEEDED", "retryAfter": "30"}
/// ```
package struct ScriptedAnswer: Sendable, Codable, Hashable {
    /// The provider's term: `UNREGISTERED`, `NotRegistered`, `80300007`, …
    package var reason: String?
    package var status: Int?
    /// `Retry-After`, as seconds or as a date.
    package var retryAfter: String?
    package var headers: [String: String]?
    package var body: String?
    /// The time when the token was last known to be invalid, in milliseconds since 1970, for APNs. Comes with 410.
    package var timestamp: Int64?
    /// Whether all later requests of the connection get it too. For a fault, not for a verdict.
    package var sticky: Bool?

    package init(
        _ reason: String? = nil, status: Int? = nil, retryAfter: String? = nil, headers: [String: String]? = nil,
        body: String? = nil, timestamp: Int64? = nil, sticky: Bool? = nil
    ) {
        self.reason = reason
        self.status = status
        self.retryAfter = retryAfter
        self.headers = headers
        self.body = body
        self.timestamp = timestamp
        self.sticky = sticky
    }

    func complaint(_ grammar: ScriptGrammar) -> (field: String, message: String)? {
        if timestamp != nil, !grammar.isApple { return ("timestamp", "is known to APNs alone") }
        if let status, !(200...599).contains(status) { return ("status", "is not between 200 and 599") }
        guard let reason else { return status == nil ? ("reason", "is missing, and status too") : nil }
        return grammar.isKnown(reason) || status != nil ? nil : ("reason", "is not a reason of this provider")
    }

    /// The complete answer. Without a known reason it is the bare status.
    func answer(by service: some SimulatedProvider) -> ServiceAnswer {
        var answer = reason.flatMap { service.answer(for: $0) } ?? ServiceAnswer(status ?? 500, reason: reason)
        if let status { answer.status = status }
        if answer.reason == nil, !(200...299).contains(answer.status) { answer.reason = "\(answer.status)" }
        var changes = headers ?? [:]
        if let retryAfter { changes["retry-after"] = retryAfter }
        for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
            answer.fields.removeAll { $0.name == name.lowercased() }
            answer.fields.append((name.lowercased(), value))
        }
        if let body { answer.body = Array(body.utf8) }
        return answer
    }
}

/// One rule of a script: when a request matches, this happens, a limited number of times, instead of or before the
/// usual answer.
///
/// ```json
/// {"when": {"share": 0.001}, "then": {"answer": {"reason": "UNREGISTERED"}}}
/// ```
package struct ServiceFault: Sendable, Codable, Equatable {
    package var when: When
    /// How often it may happen; nil for no limit.
    package var times: Int?
    package var then: Then

    package init(when: When = When(), times: Int? = nil, then: Then) {
        self.when = when
        self.times = times
        self.then = then
    }

    /// The requests that a rule is for: those that match every given condition. A rule that names devices is checked
    /// once for each device of a request, after the rules that name none were checked for the request.
    package struct When: Sendable, Codable, Equatable {
        /// The connections opened since the rule was set, counted from 1.
        package var connection: Int?
        /// The n-th request of its connection, counted from 1.
        package var request: Int?
        /// The n-th request of its connection and all after it.
        package var requestsFrom: Int?
        /// The beginning of the request's path.
        package var path: String?
        package var token: String?
        package var tokenPrefix: String?
        /// The `apns-topic` of a request, for APNs.
        package var topic: String?
        /// A share of all tokens, 0 to 1, the same tokens each time.
        package var share: Double?
        /// Selects another share of the same size.
        package var salt: UInt64?
        /// Skips the first n that match.
        package var after: Int?
        /// Every n-th of those that match.
        package var every: Int?

        package init(
            connection: Int? = nil, request: Int? = nil, requestsFrom: Int? = nil, path: String? = nil,
            token: String? = nil, tokenPrefix: String? = nil, topic: String? = nil, share: Double? = nil,
            salt: UInt64? = nil, after: Int? = nil, every: Int? = nil
        ) {
            self.connection = connection
            self.request = request
            self.requestsFrom = requestsFrom
            self.path = path
            self.token = token
            self.tokenPrefix = tokenPrefix
            self.topic = topic
            self.share = share
            self.salt = salt
            self.after = after
            self.every = every
        }

        var namesTokens: Bool { token != nil || tokenPrefix != nil || share != nil }
    }

    /// The effect. `told` says whether the devices of the request are counted as notified though no answer is sent.
    package enum Then: Sendable, Codable, Equatable {
        /// This answer, however good the request.
        case answer(ScriptedAnswer)
        /// The usual answer, later.
        case delay(milliseconds: Int)
        /// No answer, ever, on a connection that otherwise continues. `told` defaults to true.
        case hang(told: Bool? = nil)
        /// The headers of the answer, and never its body. `told` defaults to true.
        case stall(told: Bool? = nil)
        /// A half-open socket: the connection is read but nothing is written to it any more, not even an answer to a
        /// PING. `told` defaults to true.
        case silence(told: Bool? = nil)
        /// RST_STREAM over HTTP/2, by default 7 (REFUSED_STREAM); over HTTP/1.1 a TCP reset. `told` defaults to false.
        case reset(code: UInt32? = nil, told: Bool? = nil)
        /// The connection closes without GOAWAY or a TLS shutdown. `told` defaults to false.
        case close(told: Bool? = nil)
        /// The next `count` requests of the connection tell their devices, their answers are lost, then it closes. Over
        /// HTTP/1.1 it closes at once.
        case loseAnswers(count: Int)
        /// GOAWAY; over HTTP/1.1 `Connection: close` with the answer. The request itself continues unless it is after
        /// the last stream.
        case goAway(GoAway)
        /// A new SETTINGS_MAX_CONCURRENT_STREAMS; the request continues.
        case maxStreams(streams: UInt32)
        /// For new connections: the handshake ends in this TLS alert (RFC 8446 §6). Only `connection`, `after` and
        /// `every` apply.
        case refuseHandshake(alert: UInt8? = nil)

        var isForHandshake: Bool {
            if case .refuseHandshake = self { true } else { false }
        }
    }

    package struct GoAway: Sendable, Codable, Equatable {
        /// The reason, such as `session_timeout`, in the provider's wording in the debug data.
        package var reason: String?
        package var code: UInt32?
        /// By default ``LastStream/all``.
        package var lastStream: LastStream?
        /// Sends one with 2^31-1 before it.
        package var noticeFirst: Bool?

        package init(
            reason: String? = nil, code: UInt32? = nil, lastStream: LastStream? = nil, noticeFirst: Bool? = nil
        ) {
            self.reason = reason
            self.code = code
            self.lastStream = lastStream
            self.noticeFirst = noticeFirst
        }

        /// Whether the request that caused it is after the last stream where one request waits at a time.
        var leavesRequest: Bool { lastStream == .before || lastStream == LastStream.none }
    }

    /// The last stream a GOAWAY names as processed.
    package enum LastStream: Sendable, Equatable {
        /// Everything received so far, the request itself included.
        case all
        /// Everything before the request.
        case before
        /// Half of the streams that are waiting for an answer.
        case half
        case none
        case exactly(Int32)
    }

    func complaint(_ grammar: ScriptGrammar) -> (field: String, message: String)? {
        if when.topic != nil, !grammar.isApple { return ("when.topic", "is known to APNs alone") }
        for (field, text) in [("when.token", when.token), ("when.tokenPrefix", when.tokenPrefix)] {
            if let text, grammar.tokenText.bytes(of: text) == nil {
                return (field, "is not an even number of hex digits")
            }
        }
        if let share = when.share, !(0...1).contains(share) { return ("when.share", "is not between 0 and 1") }
        if let every = when.every, every < 1 { return ("when.every", "is less than 1") }
        switch then {
        case .answer(let answer): return answer.complaint(grammar).map { ("then.answer.\($0.field)", $0.message) }
        case .delay(let milliseconds) where milliseconds < 0: return ("then.delay.milliseconds", "is negative")
        case .loseAnswers(let count) where count < 1: return ("then.loseAnswers.count", "is less than 1")
        default: return nil
        }
    }
}

extension ScriptedAnswer: CustomStringConvertible {
    package var description: String {
        let parts: [(String, String?)] = [
            ("status", status.map(String.init)), ("retryAfter", retryAfter), ("headers", headers.map { "\($0)" }),
            ("body", body), ("timestamp", timestamp.map(String.init)), ("sticky", sticky.map(String.init)),
        ]
        let stated = parts.compactMap { name, value in value.map { "\(name) \($0)" } }
        return ([reason].compactMap { $0 } + stated).joined(separator: ", ")
    }
}

extension ServiceFault.Then {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case answer, delay, hang, stall, silence, reset, close, loseAnswers, goAway, maxStreams, refuseHandshake
    }

    private struct Delay: Codable { var milliseconds: Int }
    private struct Told: Codable { var told: Bool? }
    private struct Reset: Codable {
        var code: UInt32?
        var told: Bool?
    }
    private struct Count: Codable { var count: Int }
    private struct Streams: Codable { var streams: UInt32 }
    private struct Alert: Codable { var alert: UInt8? }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "is not one of \(CodingKeys.allCases.map(\.rawValue).joined(separator: ", "))"))
        }
        switch key {
        case .answer: self = .answer(try container.decode(ScriptedAnswer.self, forKey: key))
        case .delay: self = .delay(milliseconds: try container.decode(Delay.self, forKey: key).milliseconds)
        case .hang: self = .hang(told: try container.decode(Told.self, forKey: key).told)
        case .stall: self = .stall(told: try container.decode(Told.self, forKey: key).told)
        case .silence: self = .silence(told: try container.decode(Told.self, forKey: key).told)
        case .loseAnswers: self = .loseAnswers(count: try container.decode(Count.self, forKey: key).count)
        case .reset:
            let reset = try container.decode(Reset.self, forKey: key)
            self = .reset(code: reset.code, told: reset.told)
        case .close: self = .close(told: try container.decode(Told.self, forKey: key).told)
        case .goAway: self = .goAway(try container.decode(ServiceFault.GoAway.self, forKey: key))
        case .maxStreams: self = .maxStreams(streams: try container.decode(Streams.self, forKey: key).streams)
        case .refuseHandshake: self = .refuseHandshake(alert: try container.decode(Alert.self, forKey: key).alert)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .answer(let answer): try container.encode(answer, forKey: .answer)
        case .delay(let milliseconds): try container.encode(Delay(milliseconds: milliseconds), forKey: .delay)
        case .hang(let told): try container.encode(Told(told: told), forKey: .hang)
        case .stall(let told): try container.encode(Told(told: told), forKey: .stall)
        case .silence(let told): try container.encode(Told(told: told), forKey: .silence)
        case .loseAnswers(let count): try container.encode(Count(count: count), forKey: .loseAnswers)
        case .reset(let code, let told): try container.encode(Reset(code: code, told: told), forKey: .reset)
        case .close(let told): try container.encode(Told(told: told), forKey: .close)
        case .goAway(let goAway): try container.encode(goAway, forKey: .goAway)
        case .maxStreams(let streams): try container.encode(Streams(streams: streams), forKey: .maxStreams)
        case .refuseHandshake(let alert): try container.encode(Alert(alert: alert), forKey: .refuseHandshake)
        }
    }
}

extension ServiceFault.LastStream: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int32.self) {
            self = .exactly(number)
            return
        }
        let word = try container.decode(String.self)
        guard let named = Self.named.first(where: { "\($0)" == word }) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(word) is not all, before, half, none or a number")
        }
        self = named
    }

    private static let named = [Self.all, .before, .half, .none]

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if case .exactly(let number) = self { try container.encode(number) } else { try container.encode("\(self)") }
    }
}
