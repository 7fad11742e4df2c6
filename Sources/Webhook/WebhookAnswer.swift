import FoundationEssentials
import HTTP2Client
public import Outbound

/// The result of one batch.
public enum WebhookAnswer: Sendable, Hashable {
    /// One for each device, in order.
    case verdicts([WebhookVerdict])
    /// Any other answer than 2xx, for the batch as a whole.
    ///
    /// - Parameter words: the receiver's sentence for people, in visible ASCII.
    case rejected(status: Int, retryAfter: Duration?, words: String? = nil)
    /// 2xx, but no list of verdicts that fits the batch.
    case unreadable
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

/// The receiver's verdict on one device.
public enum WebhookVerdict: Sendable, Hashable {
    case accepted
    /// For good: it would be refused again.
    case refused
    /// The device is gone.
    case gone
    /// Retry, after this wait if one is named.
    case retry(after: Duration?)
}

extension WebhookAnswer {
    init(_ answer: OutboundAnswer, devices: Int) {
        switch answer {
        case .response(let response): self.init(response, devices: devices)
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }

    /// 2xx without a body accepts all devices; with `{"outcomes":[{"outcome":"accepted"},…]}` each has its own.
    public init(_ response: OutboundResponse, devices: Int) {
        guard 200..<300 ~= response.status else {
            self = .rejected(
                status: response.status, retryAfter: response.headers.retryAfter(),
                words: Outbound.words(in: response.body))
            return
        }
        guard !response.body.isEmpty else {
            self = .verdicts(Array(repeating: .accepted, count: devices))
            return
        }
        let written = try? JSONDecoder().decode(Written.self, from: Data(response.body))
        let verdicts = (written?.outcomes ?? []).compactMap(\.verdict)
        self = written != nil && verdicts.count == devices ? .verdicts(verdicts) : .unreadable
    }

    private struct Written: Decodable {
        let outcomes: [Item]

        struct Item: Decodable {
            let outcome: String
            let retryAfter: Int64?

            /// nil for an unknown verdict.
            var verdict: WebhookVerdict? {
                switch outcome {
                case "accepted": .accepted
                case "refused": .refused
                case "gone": .gone
                case "retry": .retry(after: retryAfter.map { .seconds(min(max($0, 0), RetryAfter.longest)) })
                default: nil
                }
            }
        }
    }
}
