import BelfryService
import Foundation

/// The way of pushes through the database: accepted, fanned out, claimed, loaded, rendered, settled, asked for.
struct PushParts {
    enum Audience {
        case device(UUID)
        case everyone

        fileprivate var target: Target {
            get throws {
                switch self {
                case .device(let uuid): try Target(devices: [uuid])
                case .everyone: .everyone
                }
            }
        }
    }

    private let installation: Installation
    private let name: String?
    private let targets: [Audience]

    /// - Parameter name: what the figures begin with; nil does the work without counting it.
    init(_ installation: Installation, _ name: String?, targets: [Audience]) {
        self.installation = installation
        self.name = name
        self.targets = targets
    }

    func count() async throws {
        let store = installation.store
        let pushes = try await part(figure("accept"), of: targets.count) { try await accept() }
        let devices = try await fanOut() ?? targets.count
        let bursts = try await claim(devices)
        precondition(bursts.joined().reduce(0) { $0 + $1.devices.count } == devices, "all devices are claimed")
        let loads = try await part(figure("load"), of: devices) {
            var loads: [[BatchLoad]] = []
            for burst in bursts { loads.append(try await load(burst)) }
            return loads
        }
        try part(figure("encode"), of: devices) { for load in loads.joined() { try encode(load) } }
        let settlements = zip(bursts, loads).map { zip($0, $1).map(settlement) }
        try await part(figure("settle"), of: devices) {
            for burst in settlements {
                let areSettled = try await store.settle(burst)
                precondition(!areSettled.contains(false), "a claimed batch is settled")
            }
        }
        let asked = Array(repeating: pushes, count: 5).joined()
        try await part(figure("receipt"), of: asked.count) {
            for push in asked { _ = try await store.receipt(push.receiptID) }
        }
    }

    private func figure(_ part: String) -> String? { name.map { "\($0), \(part)" } }

    private func accept() async throws -> [Push] {
        let service = PushService(store: installation.store)
        var pushes: [Push] = []
        for target in targets {
            let content = Push.Content(body: "Your code is 482 913", custom: ["ios": .object(["badge": .integer(1)])])
            pushes.append(
                try await service.send(
                    PushRequest(content: content, target: try target.target), for: installation.application.key))
        }
        return pushes
    }

    /// The number of devices that were fanned out; nil when each push has its batch already.
    private func fanOut() async throws -> Int? {
        let store = installation.store
        let fanOuts = try await store.claimFanOuts(atMost: targets.count, lanes: Lane.allCases, for: .seconds(60))
        guard let first = fanOuts.first else { return nil }
        let devices = try await store.devices(
            of: first.audience, on: first.platformKey, after: nil, limit: .max)
        let batches = stride(from: 0, to: devices.count, by: Batch.devicesMax).map { start in
            Array(devices[start..<min(start + Batch.devicesMax, devices.count)])
        }
        return try await part(figure("fan-out"), of: devices.count * fanOuts.count) {
            for fanOut in fanOuts {
                _ = try await store.devices(of: fanOut.audience, on: fanOut.platformKey, after: nil, limit: .max)
                let isWritten = try await store.advance(FanOutStep(fanOut: fanOut, batches: batches, isLast: true))
                precondition(isWritten, "a claimed fan-out is written")
            }
            return devices.count * fanOuts.count
        }
    }

    /// A burst for each claim, as delivery workers get them.
    private func claim(_ devices: Int) async throws -> [[Batch]] {
        let store = installation.store
        return try await part(figure("claim"), of: devices) {
            var bursts: [[Batch]] = []
            while true {
                let claimed = try await store.claimBursts(
                    BatchClaim(burstsMax: 1, roomElsewhere: .max, lease: .seconds(60)))
                guard !claimed.isEmpty else { return bursts }
                bursts += claimed
            }
        }
    }

    private func load(_ burst: [Batch]) async throws -> [BatchLoad] {
        var loads: [BatchLoad] = []
        while loads.count < burst.count {
            let some = try await installation.store.load(Array(burst[loads.count...]))
            precondition(!some.contains { $0 == nil }, "each batch is loaded")
            loads += some.compactMap(\.self)
        }
        return loads
    }

    private func encode(_ load: BatchLoad) throws {
        let payload = try IOSPayload(load.push.content, receiptID: load.push.receiptID, sentAt: load.push.acceptedAt)
        precondition(!payload.bytes.isEmpty, "a push has a payload")
        let ids = MessageID(push: load.push.receiptID)
        for recipient in load.recipients { _ = ids.words(for: recipient.device) }
    }

    private func settlement(_ batch: Batch, _ load: BatchLoad) -> Settlement {
        Settlement(
            of: batch, sending: load, outcomes: load.recipients.map { _ in Outcome.accepted },
            policy: RetryPolicy(), now: load.push.acceptedAt, jitter: 0)
    }
}
