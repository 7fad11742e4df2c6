public import Foundation

/// This device at a Belfry server: registers it, keeps it registered as the app wants, and counts what becomes of its pushes.
///
/// What the app asks for is on the disk before anything is sent, and is sent again until the server has confirmed it, over restarts.
/// Repeating a call costs no request; a confirmed registration is sent again after a day, at the next ``resume()``.
public actor Belfry {
    let client: Client
    let clock: @Sendable () -> Int64
    private let file: StateFile
    let reportFolder: ReportFolder
    private(set) var state: StoredState
    private var listeners: [UUID: AsyncStream<BelfryChange>.Continuation] = [:]
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - configuration: the server, the platform and the folder.
    ///   - identity: of this very device; see ``DeviceIdentity``.
    ///   - transport: sends requests; one with a pinned server is made with ``ServerTrust``.
    ///   - legacy: what an SDK of PCF left behind, if the app had one before; read once.
    ///   - clock: milliseconds since 1970.
    public init(
        _ configuration: BelfryConfiguration, identity: any DeviceIdentity,
        transport: any Transport = URLSessionTransport(), legacy: PCFInstallation? = nil,
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }
    ) throws(BelfryError) {
        client = Client(configuration: configuration, transport: transport)
        file = StateFile(in: configuration.folder)
        reportFolder = ReportFolder(in: configuration.folder)
        self.clock = clock
        let own: UUID
        do { own = try identity.identity() } catch { throw .storage("\(error)") }
        switch file.read() {
        case let known? where known.identity == own: state = known
        case let known?:
            state = StoredState(restoring: known, on: own)
            reportFolder.removeAll()
        case nil:
            state = StoredState(identity: own)
            state.device = legacy?.device
            state.legacyToken = legacy?.token
        }
        state.move(to: configuration)
        try file.write(state)
    }

    // MARK: Registration

    /// The UUID by which a back end can name this device; nil until the server gave one.
    public var device: String? { state.device }

    /// The registration that the app wants; nil for none.
    public var registration: Registration? { state.wish }

    /// Registers this device as given, or brings it up to date. Without a change nothing is sent.
    ///
    /// A throw means that the server has not confirmed it yet; ``resume()`` goes on with it.
    @discardableResult
    public func register(_ registration: Registration) async throws(BelfryError) -> String {
        // Before a user's texts are forgotten, since an extension may have noted some.
        try takeReports()
        try change { state in
            if let user = state.wish?.user, user != registration.user { state.forgetTexts() }
            state.wish = registration
        }
        try await resume()
        guard let device = state.device else { throw .unregistered }
        return device
    }

    /// Subscribes to topics and ends other subscriptions, and leaves the rest as it is.
    public func changeTopics(
        adding added: Set<String> = [], removing removed: Set<String> = []
    ) async throws(BelfryError) {
        guard var wish = state.wish else { throw .unregistered }
        wish.topics = wish.topics.subtracting(removed.map { $0.lowercased() }).union(added.map { $0.lowercased() })
        try await register(wish)
    }

    /// Ends the registration: no push reaches this device. The texts of ``latestMessages`` are forgotten.
    public func unregister() async throws(BelfryError) {
        try takeReports()
        try change { state in
            state.wish = nil
            state.forgetTexts()
        }
        try await resume()
    }

    /// Does what is still to do: call it when the app starts, and when the network is back. While the server wants to be left alone, it throws
    /// without a request.
    public func resume() async throws(BelfryError) {
        await begin()
        defer { end() }
        do throws(BelfryError) {
            try takeReports()
            try checkHold()
            do throws(BelfryError) { try await registerAsWanted() } catch {
                // A device that the server knows has events to send, though it takes no change of it.
                if case .refused = error { try await sendEvents() }
                throw error
            }
            try await sendEvents()
        } catch {
            try? noteHold(of: error)
            tell(.failed(error))
            throw error
        }
    }

    func checkHold() throws(BelfryError) {
        if let seconds = state.secondsHeld(at: clock()) { throw .busy(retryAfter: seconds) }
    }

    /// Notes how long the server wants to be left alone, also after a restart.
    func noteHold(of error: BelfryError) throws(BelfryError) {
        guard case .busy(let seconds?) = error, seconds > 0, state.secondsHeld(at: clock()) == nil else { return }
        try change { $0.hold(seconds: seconds, from: clock()) }
    }

    /// Goes on until the server has what the app wants, which may change meanwhile.
    private func registerAsWanted() async throws(BelfryError) {
        while !state.isSettled(at: clock()) {
            try await findUnanswered()
            if let wish = state.wish {
                try await register(once: wish)
            } else {
                try change { $0.isUncertain = true }
                if let device = state.device { try await client.delete(device) }
                try change { state in
                    state.confirmed = nil
                    state.isUncertain = false
                }
                tell(.unregistered)
            }
        }
    }

    private func register(once wish: Registration) async throws(BelfryError) {
        if let token = state.legacyToken, token != wish.token {
            // Another token than PCF's SDK had: its defaults may have come here by a backup, and the device is another phone.
            try change { state in (state.device, state.legacyToken) = (nil, nil) }
        }
        let device: String
        if let known = state.device {
            try change { $0.isUncertain = true }
            device = try await client.update(known, wish)
        } else {
            try change { state in
                state.unanswered = wish
                state.isUncertain = true
            }
            device = try await client.create(wish)
        }
        try change { state in
            state.device = device
            state.confirmed = wish
            state.confirmedAt = clock()
            state.unanswered = nil
            state.legacyToken = nil
            state.isUncertain = false
        }
        tell(.registered(device: device))
    }

    /// Asks for the UUID of a device that an unanswered request may have made, before another token makes a second one.
    private func findUnanswered() async throws(BelfryError) {
        guard var sent = state.unanswered, state.device == nil, sent.token != state.wish?.token else { return }
        // Whose device it is the next request says: the back end may not sign the id of a user who has left.
        sent.user = nil
        let device: String
        do throws(BelfryError) { device = try await client.create(sent) } catch {
            guard case .refused = error else { throw error }
            // It made no device, and never will: what the app wants now is not kept waiting for it.
            return try change { $0.unanswered = nil }
        }
        try change { state in
            state.device = device
            state.confirmed = sent
            state.unanswered = nil
        }
    }

    // MARK: Keeping and telling

    func change(_ edit: (inout StoredState) -> Void) throws(BelfryError) {
        var changed = state
        edit(&changed)
        guard changed != state else { return }
        try file.write(changed)
        state = changed
    }

    func tell(_ change: BelfryChange) {
        for listener in listeners.values { listener.yield(change) }
    }

    /// A stream of the changes from now on.
    public func changes() -> AsyncStream<BelfryChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BelfryChange.self, bufferingPolicy: .bufferingNewest(64))
        let id = UUID()
        listeners[id] = continuation
        continuation.onTermination = { [weak self] _ in
            // The stream ended elsewhere; its listener is removed when the actor gets to it.
            Task { await self?.forget(id) }
        }
        return stream
    }

    private func forget(_ id: UUID) { listeners[id] = nil }

    /// Waits for its turn: one exchange with the server at a time, so that answers come in the order of the wishes.
    private func begin() async {
        if !isBusy {
            isBusy = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func end() {
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
    }
}
