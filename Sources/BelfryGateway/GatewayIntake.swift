package import BelfryService
import FoundationEssentials

/// Makes urgent pushes of records, each to the one device that has its token.
///
/// Records that are given together share transactions: their tokens are looked up at once, and their pushes are accepted side by
/// side. The applications take turns, since the records of one sender would fill the queue of the writer.
package struct GatewayIntake: Sendable {
    private let services: Services
    private var store: any Store { services.store }
    private let verdicts: GatewayVerdicts
    /// How long a record is tried to be written while the database is unreachable or busy.
    private let patience: Duration
    /// When that is over; see `patiently`.
    private var end = ContinuousClock.now
    /// An application has two of the places, so that one step is written while the last is flushed.
    let recordTurns = FairQueue(FairTurns<Key<Application>>(places: 3, waitingMax: .max))
    /// The most writes under way for one step. What one read of a connection brings is seldom more.
    private static let recordsPerTurn = 128
    private let requestTurns = FairQueue(FairTurns<Key<Application>>(places: 64, waitingMax: .max))
    /// Devices that were registered for a record whose verdict is that they are dead.
    private let deadNewcomers = AsyncStream.makeStream(of: Device.self, bufferingPolicy: .bufferingNewest(100_000))

    package init(
        _ services: Services, verdicts: GatewayVerdicts, patience: Duration = .seconds(30)
    ) {
        self.services = services
        self.verdicts = verdicts
        self.patience = patience
    }

    /// The result of taking records in order: the number that were accepted and are durable, and the fault of the next one, if any.
    package struct Result: Sendable, Hashable {
        package let accepted: Int
        package let fault: GatewayError?
    }

    /// Stops at the first record that cannot be taken. Where the database failed in the middle of a step, later ones of the step may be
    /// pushes all the same: the sender gives them again, and a device gets them twice.
    ///
    /// - Parameters:
    ///   - tell: called with later refusals of APNs, while the sender can still receive them; with nil for a record of command 0.
    ///   - isOver: whether one was told: the sender gives all records behind it again.
    package func take(
        _ records: [GatewayRecord], on platform: Platform, tell: @escaping @Sendable (GatewayError?) -> Void,
        isOver: @Sendable () -> Bool = { false }
    ) async -> Result {
        var notifications: [GatewayNotification] = []
        var fault: GatewayError?
        for record in records {
            guard fault == nil else { break }
            do {
                notifications.append(try record.notification(for: platform, at: store.clock.now))
            } catch {
                fault = GatewayError(error, identifier: record.identifier)
            }
        }
        let taken = await patiently.accept(
            zip(notifications, records).map { ($0, $1.command == .simple ? nil : $1.identifier) }, on: platform, tell,
            isOver)
        let missing = taken.firstIndex(of: false) ?? (taken.count < notifications.count ? taken.count : nil)
        if let missing { fault = GatewayError(.processingError, identifier: records[missing].identifier) }
        return Result(accepted: missing ?? notifications.count, fault: fault)
    }

    /// The intake for records that have just come: turns that they wait for use their patience up.
    private var patiently: GatewayIntake {
        var intake = self
        intake.end = ContinuousClock.now + patience
        return intake
    }

    /// Begins no step behind one that was not taken.
    private func accept(
        _ notifications: [(GatewayNotification, identifier: UInt32?)], on platform: Platform,
        _ tell: @escaping @Sendable (GatewayError?) -> Void, _ isOver: @Sendable () -> Bool
    ) async -> [Bool] {
        guard await takesPlainText(platform) else { return [Bool](repeating: false, count: notifications.count) }
        var taken: [Bool] = []
        while taken.count < notifications.count, !taken.contains(false), !isOver() {
            let step = Array(notifications[taken.count...].prefix(Self.recordsPerTurn))
            let areTaken = try? await recordTurns.run(for: platform.applicationKey) {
                await accept(step: step, on: platform, tell)
            }
            taken += areTaken ?? [false]
        }
        return taken
    }

    /// A dead token is accepted in silence, as by Apple: the feedback service tells of it.
    private func accept(
        step: [(GatewayNotification, identifier: UInt32?)], on platform: Platform,
        _ tell: @escaping @Sendable (GatewayError?) -> Void
    ) async -> [Bool] {
        let devices = await devices(of: Set(step.map(\.0.token)), on: platform)
        return await withTaskGroup(of: (Int, Bool).self) { group in
            for (index, (notification, identifier)) in step.enumerated() {
                guard let device = devices[notification.token] else { break }
                let push = NewPush(notification, to: device.key, on: platform)
                group.addTask { (index, await accept(push, to: device, identifier, tell)) }
            }
            var taken = [Bool](repeating: false, count: step.count)
            for await (index, isTaken) in group { taken[index] = isTaken }
            return taken
        }
    }

    /// A receipt id that a push has already stands for that push, so the same one may be given again and again.
    private func accept(
        _ push: NewPush, to device: Holder, _ identifier: UInt32?, _ tell: @escaping @Sendable (GatewayError?) -> Void
    ) async -> Bool {
        watch(push, to: device) { verdict in
            guard case .refused(let refusal) = verdict else { return }
            tell(identifier.map { GatewayError(GatewayStatus(refusal), identifier: $0) })
        }
        return await accept(push)
    }

    private func watch(_ push: NewPush, to device: Holder, tell: @escaping @Sendable (GatewayVerdict) -> Void) {
        verdicts.watch(push) { verdict in
            if case .gone(since: let since?) = verdict, let newcomer = device.newcomer, since <= newcomer.registeredAt {
                deadNewcomers.continuation.yield(newcomer)
            }
            tell(verdict)
        }
    }

    /// Ends devices that were registered for a record and turned out to be dead, whatever time their verdicts name: a record says nothing of
    /// when its token was alive. Returns when it is cancelled.
    package func endDeadNewcomers() async {
        for await device in deadNewcomers.stream {
            _ = await patiently.retrying { try await store.endNewcomer(device) }
        }
    }

    private func accept(_ push: NewPush) async -> Bool {
        let accepted = await retrying { try await store.accept(push) }
        guard let accepted else {
            verdicts.forget(push)
            return false
        }
        services.pushObserver.accepted(accepted.head)
        return true
    }

    // MARK: Requests of HTTP/2

    /// Makes a push of a request, waits for a while for what APNs says of the device, and answers as APNs would.
    ///
    /// - Parameter platform: nil where the sender's certificate opens none.
    package func answer(
        _ request: GatewayRequest, on platform: Platform?, within wait: Duration
    ) async -> (response: GatewayResponse, id: String) {
        var answer = await patiently.verdict(on: request, on: platform, within: wait)
        if let warning = request.warning { answer.response.warning = warning }
        answer.response.isBodiless = request.method == "HEAD"
        return answer
    }

    private func verdict(
        on request: GatewayRequest, on platform: Platform?, within wait: Duration
    ) async -> (response: GatewayResponse, id: String) {
        do throws(GatewayResponse) {
            guard let platform else { throw GatewayResponse(403, "BadCertificate") }
            let notification = try request.notification(for: platform, at: store.clock.now)
            let id = try request.id()
            return (try await send(notification, on: platform, within: wait), id.lowercased)
        } catch {
            return (error, request.headers["id"].flatMap { UUID(uuidString: $0) }?.lowercased ?? UUID().lowercased)
        }
    }

    private func send(
        _ notification: GatewayNotification, on platform: Platform, within wait: Duration
    ) async throws(GatewayResponse) -> GatewayResponse {
        guard await takesPlainText(platform) else { throw GatewayResponse(403, "Forbidden") }
        let (stream, verdict) = AsyncStream.makeStream(of: GatewayVerdict.self, bufferingPolicy: .bufferingNewest(1))
        let tell: @Sendable (GatewayVerdict) -> Void = {
            verdict.yield($0)
            verdict.finish()
        }
        let push = try? await requestTurns.run(for: platform.applicationKey) { () async -> NewPush? in
            guard let device = await devices(of: [notification.token], on: platform)[notification.token] else {
                return nil
            }
            let push = NewPush(notification, to: device.key, on: platform)
            if let since = device.deadSince {
                tell(.gone(since: since))
                return push
            }
            watch(push, to: device, tell: tell)
            return await accept(push) ? push : nil
        }
        guard let push else { throw GatewayResponse(503, "ServiceUnavailable") }
        defer { verdicts.forget(push) }
        let told = await withTaskGroup(of: GatewayVerdict?.self) { group in
            group.addTask { await stream.first { _ in true } }
            group.addTask {
                try? await Task.sleep(for: wait)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        return told.map { GatewayResponse($0) } ?? .accepted
    }

    /// Whether the application of a platform takes the plain text of APNs' own protocols; see `DeliveryRules.takesEncryptedOnly`.
    private func takesPlainText(_ platform: Platform) async -> Bool {
        await retrying { try await store.checkPlainText("payload", in: platform.applicationKey) } != nil
    }

    // MARK: Devices

    private struct Holder: Sendable {
        let key: Key<Device>
        /// nil where its token may be alive.
        var deadSince: Instant?
        /// The device, where it was registered for the record.
        var newcomer: Device?
    }

    /// The devices that have the tokens. Tokens that none has are registered: the sender knows devices that never met this server.
    private func devices(of tokens: Set<DeviceToken>, on platform: Platform) async -> [DeviceToken: Holder] {
        let found = await retrying { try await store.holders(of: Array(tokens), on: platform.key) }
        guard let found else { return [:] }
        var devices = found.filter { $0.value.isActive }.mapValues { Holder(key: $0.device) }
        await withTaskGroup(of: (DeviceToken, Holder?).self) { group in
            for token in tokens where devices[token] == nil {
                group.addTask { (token, await register(token, of: found[token], on: platform)) }
            }
            for await (token, device) in group { devices[token] = device }
        }
        return devices
    }

    /// - Parameter inactive: the device that has the token, if any. It is registered again once its token may have come back to life.
    private func register(
        _ token: DeviceToken, of inactive: TokenHolder?, on platform: Platform
    ) async -> Holder? {
        await retrying {
            if let inactive, let since = try await store.deadSince(inactive, on: platform.key) {
                return Holder(key: inactive.device, deadSince: since)
            }
            let registration = try Registration(ofToken: token)
            let device = try await services.registrations.register(registration, as: nil, on: platform)
            return Holder(key: device.key, newcomer: device)
        }
    }

    /// nil when it cannot be done, or not in time.
    private func retrying<Value: Sendable>(_ body: () async throws -> Value) async -> Value? {
        var pause = Duration.milliseconds(50)
        while true {
            do {
                return try await body()
            } catch StoreError.overloaded, StoreError.unavailable {
                guard ContinuousClock.now < end, (try? await Task.sleep(for: pause)) != nil else { return nil }
                pause = min(pause * 2, .seconds(1))
            } catch {
                return nil
            }
        }
    }
}

extension NewPush {
    /// Urgent, to the one device.
    fileprivate convenience init(_ notification: GatewayNotification, to device: Key<Device>, on platform: Platform) {
        self.init(
            receiptID: IdempotentID.make(), applicationKey: platform.applicationKey, content: notification.content,
            audience: .all([.list(.devices([device])), .list(.registered)]), platformKeys: [platform.key],
            lane: .urgent, expiresAt: notification.expiresAt, devices: [platform.key: [device]])
    }
}

extension GatewayRecord {
    /// The payload is as the sender wrote it: nothing in it is checked but that it is a JSON object.
    fileprivate func notification(
        for platform: Platform, at now: Instant
    ) throws(GatewayStatus) -> GatewayNotification {
        let expiry = GatewayExpiry(seconds: expiry.map(Int64.init), at: now)
        guard case .object(let payload)? = try? JSONValue(json: payload) else { throw .processingError }
        let use: AppleTokenUse = if case .apple(let use) = platform.kind { use } else { .app }
        let apple = ApplePush(
            verbatim: payload, for: use, isConsiderate: priority == .considerate, isStored: expiry.isStored)
        let content = Push.Content(apple: apple)
        do { try content.checkStored() } catch { throw .invalidPayloadSize }
        return GatewayNotification(
            token: DeviceToken(bytes: token), content: content,
            expiresAt: expiry.time)
    }
}
