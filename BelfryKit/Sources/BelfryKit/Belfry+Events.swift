import Foundation

extension Belfry {
    /// The most events that are kept while the server cannot be reached; the oldest go first.
    static let eventsMax = 1_000
    /// The most that one request carries.
    static let eventsPerRequest = 100
    /// The age, in milliseconds, after which an event is not sent: 29 days. Servers count events of thirty days.
    private static let lateMax: Int64 = 29 * 86_400_000

    /// Notes that a push arrived. It is counted at the next ``resume()``, once however often it is noted or sent.
    public func received(_ message: PushMessage) throws(BelfryError) {
        try takeReports()
        guard !state.knows(message) else { return }
        try change { state in
            state.keep(message)
            state.note(StoredEvent(kind: .received, receiptID: message.receiptID, time: clock(), device: state.device))
        }
        tell(.received(message))
    }

    /// Takes over what an extension has noted.
    func takeReports() throws(BelfryError) {
        let files = reportFolder.files()
        guard !files.isEmpty else { return }
        var arrived: [PushMessage] = []
        try change { state in
            for file in files where !state.knows(file.report.message) {
                state.keep(file.report.message)
                if !file.isSent { state.note(file.report.event) }
                arrived.append(file.report.message)
            }
        }
        for file in files { reportFolder.remove(file) }
        for message in arrived { tell(.received(message)) }
    }

    /// The times of events that a server counts, whose clock says `now`.
    static func counted(at now: Int64) -> ClosedRange<Int64> { now - lateMax...now }

    /// Notes that the user opened a push.
    public func opened(receiptID: String) throws(BelfryError) {
        try change { state in
            state.note(StoredEvent(kind: .opened, receiptID: receiptID, time: clock(), device: state.device))
        }
    }

    /// Notes that the user removed a push without opening it.
    public func dismissed(receiptID: String) throws(BelfryError) {
        try change { state in
            state.note(StoredEvent(kind: .dismissed, receiptID: receiptID, time: clock(), device: state.device))
        }
    }

    /// The last pushes that this device got, newest last; without their texts those that were encrypted, and those of a user who has left.
    public var latestMessages: [PushMessage] { state.messages }

    /// How many events have not been counted yet.
    public var waitingEvents: Int { state.events.count }

    func sendEvents() async throws(BelfryError) {
        while !state.events.isEmpty, let device = state.device {
            try await fixNext(for: device)
            let batch = Array(state.events.prefix(Self.eventsPerRequest))
            do throws(BelfryError) { try await client.report(batch) } catch {
                // The same batch would be refused for ever. Other refusals are of something before the server.
                guard case .refused(let status, _) = error, [400, 413].contains(status) else { throw error }
            }
            try change { $0.events.removeFirst(min(batch.count, $0.events.count)) }
        }
    }

    /// Gives the events their last form before they are sent for the first time. A clock that was wrong must not lose them: their times
    /// are put where the server counts them. The server takes the same event of one time for a repetition, so each has a time of its own.
    private func fixNext(for device: String) async throws(BelfryError) {
        let next = state.events.prefix(Self.eventsPerRequest)
        guard next.contains(where: { !$0.isFixed }) else { return }
        let now = try await client.serverTime() ?? clock()
        try change { state in
            for index in state.events.indices.prefix(Self.eventsPerRequest) where !state.events[index].isFixed {
                state.events[index].device = state.events[index].device ?? device
                let range = Self.counted(at: now)
                state.events[index].time = min(max(state.events[index].time, range.lowerBound), range.upperBound)
                while state.sentEvents.contains(state.events[index].identity) { state.events[index].time -= 1 }
                state.sentEvents = Array((state.sentEvents + [state.events[index].identity]).suffix(Self.eventsMax))
                state.events[index].isFixed = true
            }
        }
    }
}

extension StoredState {
    mutating func keep(_ message: PushMessage) { messages = Array((messages + [message]).suffix(50)) }

    mutating func note(_ event: StoredEvent) {
        events.append(event)
        // Those in flight stand first and stay.
        if events.count > Belfry.eventsMax { events.remove(at: min(Belfry.eventsPerRequest, events.count - 1)) }
    }
}
