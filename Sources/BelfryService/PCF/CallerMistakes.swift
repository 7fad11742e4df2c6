import Hummingbird
import Logging
import Metrics

extension PCF {
    /// Reports probable mistakes in requests that are valid: a log line for each application or platform, a header for the caller, and a
    /// count.
    struct CallerMistakes: Sendable {
        private let ignored = LogOnce<String>()
        private let strangers = LogOnce<Key<Platform>>()
        private let mismatched = Counter(metric: .mismatchedOS)

        /// Tells of fields that look misspelt in a header of the response and in the log.
        ///
        /// - Parameter who: `app` or `platform`, and its UUID.
        func tell(_ fields: IgnoredFields, of who: String, in response: Response, _ logger: Logger) -> Response {
            guard !fields.isEmpty else { return response }
            if ignored.isFirst("\(who) \(fields.text)") {
                logger.warning(
                    "a request was taken that is probably not what its caller meant",
                    metadata: ["caller": "\(who)", "mistakes": "\(fields.text)"])
            }
            return response.warning(of: fields)
        }

        /// The system that the caller named, where it is not that of its platform, as old SDKs do; their devices are registered all
        /// the same.
        func otherSystem(_ os: String?, on platform: Platform, _ logger: Logger) -> String? {
            guard let os, let system = platform.kind.traits.systemOfPCF, os != system, let named = System(os),
                named.rawValue != system
            else { return nil }
            mismatched.increment()
            guard strangers.isFirst(platform.key) else { return named.rawValue }
            logger.warning(
                "devices register with another system than that of their platform",
                metadata: [
                    "platform.uuid": "\(platform.uuid.lowercased)", "platform.type": "\(platform.kind.rawValue)",
                    "os": "\(named.rawValue)",
                ])
            return named.rawValue
        }
    }

    /// The systems that SDKs name in `os`. Source: PCF Push API, "Register a device".
    fileprivate enum System: String {
        case ios, android, windows8, windowsphone, bb10

        /// Newer SDKs name the service too: `android-fcm`.
        init?(_ os: String) {
            let name = os.prefix(32).lowercased().prefix { $0 != "-" }
            self.init(rawValue: String(name))
        }
    }
}

extension Response {
    /// The response with a header that names the fields; unchanged where there are none.
    func warning(of fields: IgnoredFields) -> Response {
        guard !fields.isEmpty else { return self }
        var response = self
        response.headers[.warning] = fields.warning
        return response
    }
}
