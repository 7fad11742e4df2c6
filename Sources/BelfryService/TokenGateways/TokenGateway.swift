import Crypto
import FoundationEssentials
import Synchronization

/// Sends to device tokens that callers give with each message: chat servers and back ends that keep the tokens themselves.
///
/// A token that no device has is registered by its first message. An accepted message is durable, as every push is. The answer then waits for a
/// while for the provider's verdict, because the callers' protocols name dead tokens in it. Without a verdict in time the message counts as
/// accepted, and a verdict that comes later is the answer to the next message for the token.
struct TokenGateway: Sendable {
    private let services: Services
    private var store: any Store { services.store }
    /// How long an answer waits for the provider.
    private let verdictWait: Duration
    private let late = LateVerdicts()
    /// New tokens are registered a step at a time, the applications in turns: those of a single request would fill the queue of the writer.
    private let turns = FairQueue(FairTurns<Key<Application>>(places: 8, waitingMax: .max))
    private static let registrationsPerStep = 8

    static let verdictWait = Duration.seconds(5)
    /// A dead token is tried again after this, since a token may come back to life and its caller has no other way to say so.
    static let deadFor = Duration.seconds(86_400)

    init(_ services: Services, verdictWait: Duration = Self.verdictWait) {
        self.services = services
        self.verdictWait = verdictWait
    }

    /// A message for one or more devices of a platform.
    struct Message: Sendable {
        let content: Push.Content
        var expiresAt: Instant?
        /// A message with the same id is not sent again.
        var id: UUID?
        /// When the caller got the tokens: older verdicts do not count.
        var tokensSince: Instant?
    }

    /// The id of a message that a caller repeats with the same parts.
    static func id(of endpoint: Key<OpenEndpoint>, _ parts: [String]) -> UUID {
        var hash = SHA256()
        for part in ["\(endpoint)"] + parts { hash.update(data: Array("\(part.utf8.count):\(part)".utf8)) }
        return hash.finalize().withUnsafeBytes { UUID(bytes: UnsafeRawBufferPointer(rebasing: $0.prefix(16))) }
            ?? UUID()
    }

    /// Accepts a message, and returns the answer for each token: `pending` where there is none yet. A token that could not be registered has
    /// none.
    ///
    /// Throws `InvalidInput` where the platform cannot take the content, and where no token could be registered the reason for one of them.
    ///
    /// - Parameters:
    ///   - tokens: up to `Batch.devicesMax`.
    ///   - waits: whether the verdict is waited for.
    func send(
        _ message: Message, to tokens: [DeviceToken], on platform: Platform, waits: Bool = true
    ) async throws -> [DeviceToken: Answer] {
        try await store.checkPlainText("message", in: platform.applicationKey)
        try message.content.check(for: [platform.kind], receiptID: platform.uuid)
        var devices: [Key<Device>: DeviceToken] = [:]
        var answers: [DeviceToken: Answer] = [:]
        let holders = try await store.holders(of: tokens, on: platform.key)
        var unknown: [DeviceToken] = []
        for token in Set(tokens) {
            let holder = holders[token]
            if let answer = try await knownAnswer(of: token, holder, message, on: platform) {
                answers[token] = answer
            } else if let holder, holder.isActive {
                devices[holder.device] = token
            } else {
                unknown.append(token)
            }
        }
        let new = try await register(unknown, on: platform)
        for entry in new { if let device = entry.device { devices[device.key] = entry.token } }
        if devices.isEmpty, answers.isEmpty, let fault = new.lazy.compactMap(\.fault).first { throw fault }
        guard !devices.isEmpty else { return answers }
        let push = try await accept(message, to: devices.keys.sorted(), on: platform)
        let verdicts = waits ? await verdicts(on: Array(devices.keys), of: push, for: platform.applicationKey) : [:]
        late.note(verdicts, of: devices.keys, to: push, at: services.clock.now)
        for (device, token) in devices { answers[token] = verdicts[device] ?? .pending }
        for entry in new {
            guard let device = entry.device, let answer = verdicts[device.key], answer.isOfUselessToken else {
                continue
            }
            let isNew = holders[entry.token] == nil
            if isNew { late.note(answer, of: entry.token, on: platform.key, at: services.clock.now) }
            await end(device, on: platform, isNew: isNew)
        }
        return answers
    }

    /// Ends a device whose token turned out to be none. One that was registered for the message goes, so that a caller who makes tokens up fills
    /// no quota. A fault here is none of the message's.
    private func end(_ device: Device, on platform: Platform, isNew: Bool) async {
        if isNew {
            // An app that has registered meanwhile is another matter.
            try? await store.delete(device, on: platform, verdictAt: device.registeredAt + .milliseconds(1))
        } else {
            try? await store.unregister(device.uuid, on: platform.key)
        }
    }

    private func accept(_ message: Message, to devices: [Key<Device>], on platform: Platform) async throws -> Key<Push>
    {
        let push = try await store.accept(
            NewPush(
                receiptID: message.id ?? IdempotentID.make(), applicationKey: platform.applicationKey,
                content: message.content, audience: .all([.list(.devices(devices)), .list(.registered)]),
                platformKeys: [platform.key], lane: devices.count <= NewPush.namedMax ? .urgent : .normal,
                expiresAt: message.expiresAt, devices: [platform.key: devices]))
        services.pushObserver.accepted(push.head)
        return push.key
    }

    /// The device of a token, or why it could not be registered.
    private struct NewDevice: Sendable {
        let token: DeviceToken
        var device: Device?
        var fault: (any Error)?
    }

    /// A token that cannot be registered holds back no other.
    private func register(_ tokens: [DeviceToken], on platform: Platform) async throws -> [NewDevice] {
        try await tokens.inSteps(of: Self.registrationsPerStep) { step, _ in
            try await turns.run(for: platform.applicationKey) {
                await withTaskGroup(of: NewDevice.self) { group in
                    for token in step {
                        group.addTask {
                            do { return NewDevice(token: token, device: try await register(token, on: platform)) } catch
                            {
                                return NewDevice(token: token, fault: error)
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
            }
        }
    }

    private func register(_ token: DeviceToken, on platform: Platform) async throws -> Device {
        try await services.registrations.register(try Registration(ofToken: token), as: nil, on: platform)
    }

    // MARK: Verdicts

    /// The answer that is known without sending: that the token is dead.
    private func knownAnswer(
        of token: DeviceToken, _ holder: TokenHolder?, _ message: Message, on platform: Platform
    ) async throws -> Answer? {
        let known: LateVerdicts.Verdict? =
            if let holder, holder.isActive {
                try await late.answer(of: holder, on: platform.key, in: store)
            } else if let holder {
                try await store.device(holder.uuid, on: platform.key).map { (.gone, $0.registeredAt) }
            } else {
                late.answer(of: token, on: platform.key)
            }
        guard let known, services.clock.now < known.since + Self.deadFor else { return nil }
        if let since = message.tokensSince, since > known.since { return nil }
        return known.answer
    }

    /// Asks the database, since another node may be the one that hears the verdict. A fault here is none of the message's, which is accepted.
    private func verdicts(
        on devices: [Key<Device>], of push: Key<Push>, for application: Key<Application>
    ) async -> [Key<Device>: Answer] {
        guard let holder = try? await ShareHolder.of(application, in: store),
            let place = try? services.shares.take(.verdicts, for: holder)
        else { return [:] }
        defer { place.end() }
        let deadline = ContinuousClock.now + verdictWait
        var pause = Duration.milliseconds(10)
        while true {
            let answers = (try? await store.answers(in: push)) ?? [:]
            let left = deadline - .now
            guard left > .zero, devices.contains(where: { answers[$0] ?? .pending == .pending }),
                (try? await Task.sleep(for: min(pause, left))) != nil
            else { return answers }
            pause = min(pause * 2, .milliseconds(250))
        }
    }
}

extension Answer {
    /// Whether the token will never work: it ended, or never was one.
    var isOfDeadToken: Bool { self == .gone || self == .refused(.badToken) }
    /// Whether it also works for none of this sender's messages.
    var isOfUselessToken: Bool {
        isOfDeadToken || self == .refused(.tokenOfAnotherApplication) || self == .refused(.missingToken)
    }
}

/// Verdicts that no answer has told yet, and those on tokens that the database keeps as active, such as malformed ones.
final class LateVerdicts: Sendable {
    private enum Entry {
        /// The push whose verdict was not there in time.
        case awaited(Key<Push>, since: Instant)
        case dead(Verdict)
    }

    private let entries = Mutex(BoundedCache<Key<Device>, Entry>(countMax: 65_536))
    /// Tokens whose devices were deleted for their verdict.
    private let tokens = Mutex(BoundedCache<SHA256Digest, Verdict>(countMax: 65_536))

    typealias Verdict = (answer: Answer, since: Instant)

    func note(_ answer: Answer, of token: DeviceToken, on platform: Key<Platform>, at now: Instant) {
        tokens.withLock { $0.set((answer, now), for: Self.hash(token, platform)) }
    }

    func answer(of token: DeviceToken, on platform: Key<Platform>) -> Verdict? {
        tokens.withLock { $0.value(for: Self.hash(token, platform)) }
    }

    private static func hash(_ token: DeviceToken, _ platform: Key<Platform>) -> SHA256Digest {
        SHA256.hash(data: Array("\(platform) ".utf8) + token.bytes)
    }

    func note(
        _ answers: [Key<Device>: Answer], of devices: some Sequence<Key<Device>>, to push: Key<Push>, at now: Instant
    ) {
        entries.withLock { entries in
            for device in devices {
                let answer = answers[device] ?? .pending
                if answer == .pending {
                    entries.set(.awaited(push, since: now), for: device)
                } else if answer.isOfUselessToken {
                    entries.set(.dead((answer, now)), for: device)
                } else {
                    entries.remove(device)
                }
            }
        }
    }

    /// nil where nothing says that the token is dead, and where its device has registered since.
    func answer(of holder: TokenHolder, on platform: Key<Platform>, in store: any Store) async throws -> Verdict? {
        let known: Verdict
        switch entries.withLock({ $0.value(for: holder.device) }) {
        case nil: return nil
        case .dead(let verdict): known = verdict
        case .awaited(let push, let since):
            guard let answer = try await store.answer(of: holder.device, in: push), answer.isOfUselessToken else {
                return nil
            }
            known = (answer, since)
            entries.withLock { $0.set(.dead(known), for: holder.device) }
        }
        guard let device = try await store.device(holder.uuid, on: platform), device.registeredAt <= known.since else {
            return nil
        }
        return known
    }
}

extension Store {
    /// The answers of a push that has one batch.
    fileprivate func answers(in push: Key<Push>) async throws -> [Key<Device>: Answer] {
        try await read { db in
            try db.prepared(ReceiptStatements.batches).all(push, Key<Platform>(0), Key<Device>(0), 1) { row in
                row.withBlob(1) { devices in
                    row.withBlob(2) { AnswerSearch.Candidate(platform: Key(0), devices: devices, answers: $0) }
                }
            }.first.flatMap(\.self).map { Dictionary(uniqueKeysWithValues: zip($0.devices, $0.answers)) } ?? [:]
        }
    }
}

/// When a message of a gateway expires. What is over already is tried once, as 0 is, since the sender's clock may be slow: so APNs does.
package struct GatewayExpiry: Sendable {
    /// nil where the sender names none, or it is over.
    package var time: Instant?
    package let isStored: Bool

    package init(seconds: Int64?, at now: Instant) {
        let named = seconds.map { Instant(milliseconds: $0 * 1_000) }
        time = named.flatMap { $0 > now ? $0 : nil }
        isStored = named == nil || time != nil
    }
}
