import BelfryCore
import MPNS
import Outbound

/// Sends the pushes of one Windows Phone platform through MPNS.
struct MPNSProvider: PostingProvider {
    let desk: PostingDesk
    private let client: MPNSClient
    private let domain: String
    private let clock: any WallClock
    private let options: PostingOptions

    init(_ credentials: MPNSPlatformCredentials, with means: ProviderMeans) throws {
        options = means.options.posting
        clock = means.clock
        desk = PostingDesk(logger: means.logger)
        domain = credentials.domain ?? MPNSChannel.domain
        var configuration = MPNSClient.Configuration()
        configuration.width = options.width
        configuration.tls = try credentials.tls()
        client = MPNSClient(means.exits.guarded(for: .mpns), configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        guard let payload = try WindowsPhonePayload(push.content) else { return nil }
        let sentAt = clock.now
        let message = try MPNSMessage(
            MPNSMessage.Kind(payload.kind), body: payload.bytes,
            batching: MPNSMessage.Batching(lifetime: push.lifetime(at: sentAt)))
        let page = Addressed(recipients) { try MPNSChannel($0.text, domain: domain) }
        let answers = await client.send(message, to: page.addresses, within: options.deadline)
        return page.outcomes(answers.map { Outcome($0, sentAt: sentAt) })
    }

    func test() async -> CredentialsTest { .unknown("MPNS can only be asked by a message to a device") }
}

extension MPNSMessage.Kind {
    fileprivate init(_ kind: WindowsPhonePayload.Kind) {
        self =
            switch kind {
            case .toast: .toast
            case .tile: .tile
            case .raw: .raw
            }
    }
}
