/// One rule of a script: when a request fits, so many times, then this happens instead of, or before, the usual answer.
///
/// ```json
/// {"when": {"request": 100}, "times": 1, "then": {"goAway": {"lastStream": "half", "reason": "Shutdown"}}}
/// ```
package struct APNsFault: Sendable, Codable, Equatable {
    package var when: When
    /// How often it happens before it is spent; nil is without end.
    package var times: Int?
    package var then: Then

    package init(when: When = When(), times: Int? = nil, then: Then) {
        self.when = when
        self.times = times
        self.then = then
    }

    /// Which requests a rule is for: those that fit everything stated.
    package struct When: Sendable, Codable, Equatable {
        /// The connections opened since the rule was set, counted from 1.
        package var connection: Int?
        /// The n-th request of its connection, counted from 1.
        package var request: Int?
        /// The n-th request of its connection and all behind it.
        package var requestsFrom: Int?
        /// A token, in hex.
        package var token: String?
        package var tokenPrefix: String?
        /// A share of all tokens, 0 to 1, the same tokens each time.
        package var share: Double?
        /// Draws another share of the same size.
        package var salt: UInt64?
        package var topic: String?
        /// Lets the first n that fit pass.
        package var after: Int?
        /// Of those that fit, every n-th.
        package var every: Int?

        package init(
            connection: Int? = nil, request: Int? = nil, requestsFrom: Int? = nil, token: String? = nil,
            tokenPrefix: String? = nil, share: Double? = nil, salt: UInt64? = nil, topic: String? = nil,
            after: Int? = nil, every: Int? = nil
        ) {
            self.connection = connection
            self.request = request
            self.requestsFrom = requestsFrom
            self.token = token
            self.tokenPrefix = tokenPrefix
            self.share = share
            self.salt = salt
            self.topic = topic
            self.after = after
            self.every = every
        }
    }

    /// What happens. `told` says whether the device of the request is counted as told though no answer leaves.
    package enum Then: Sendable, Codable, Equatable {
        /// This answer, whatever the request; `sticky` gives it to every later request of the connection too.
        case answer(status: Int, reason: String? = nil, timestamp: Int64? = nil, sticky: Bool? = nil)
        /// The usual answer, later.
        case delay(milliseconds: Int)
        /// RST_STREAM. Code 7 is REFUSED_STREAM; `told` is false unless stated.
        case reset(code: UInt32, told: Bool? = nil)
        /// GOAWAY; the request itself goes on when it is not behind the last stream. `noticeFirst` sends one with
        /// 2^31-1 before it. Without `lastStream`: `all`.
        case goAway(lastStream: LastStream? = nil, reason: String? = nil, code: UInt32? = nil, noticeFirst: Bool? = nil)
        /// A new SETTINGS_MAX_CONCURRENT_STREAMS; the request goes on.
        case maxStreams(streams: UInt32)
        /// The headers of the answer without END_STREAM, and never its data. `told` is true unless stated.
        case stall(told: Bool? = nil)
        /// A half-open socket: the connection is read but nothing is written to it any more, not even to a PING.
        case silence(told: Bool? = nil)
        /// The connection closes without GOAWAY and without a TLS goodbye. `told` is false unless stated.
        case close(told: Bool? = nil)
        /// The next so many devices of the connection are told, their answers are lost, then it closes.
        case loseAnswers(count: Int)
        /// For new connections: the handshake ends in this TLS alert. 40 is handshake_failure, 42 bad_certificate,
        /// 44 certificate_revoked, 45 certificate_expired (RFC 8446 §6). Only `connection`, `after` and `every` apply.
        case refuseHandshake(alert: UInt8? = nil)
    }

    /// The last stream a GOAWAY names as processed.
    package enum LastStream: Sendable, Equatable {
        /// Everything received so far, the request itself included.
        case all
        /// Everything before the request.
        case before
        /// The middle of the streams that are waiting for an answer.
        case half
        case none
        case exactly(Int32)
    }
}

extension APNsFault.LastStream: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int32.self) {
            self = .exactly(number)
            return
        }
        switch try container.decode(String.self) {
        case "all": self = .all
        case "before": self = .before
        case "half": self = .half
        case "none": self = .none
        case let other:
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(other) is not all, before, half, none or a number")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .all: try container.encode("all")
        case .before: try container.encode("before")
        case .half: try container.encode("half")
        case .none: try container.encode("none")
        case .exactly(let number): try container.encode(number)
        }
    }
}
