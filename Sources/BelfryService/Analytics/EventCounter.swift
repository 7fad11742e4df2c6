import FoundationEssentials

/// An event, with everything that can be computed without the database.
struct NamedEvent: Sendable {
    let event: AnalyticsEvent
    let device: Key<Device>
    let hash: Int64
}

/// Counts the events of one batch, within a write.
struct EventCounter<Session: WriteSession> {
    let session: Session
    let platform: Platform
    let lateMax: Duration
    private var tally = AnalyticsTally()
    private var ofPushes: [Count<Key<Push>>: Int64] = [:]
    private var onPlatform: [Count<Int64>: Int64] = [:]
    private var openings: [PushHour: Int64] = [:]
    /// The bits of devices that report pushes, by the block that has them.
    private var reports: [PushBlock: Int64] = [:]
    /// The devices whose reports are told to others.
    private var told: [Told: [UUID]] = [:]
    private var acknowledgements: Acknowledgements<Session>
    /// Most events of a batch are about a few pushes.
    private var pushes: [UUID: PushOfEvent?] = [:]

    private struct Count<Subject: Hashable & Comparable>: Hashable, Comparable {
        let subject: Subject
        let kind: AnalyticsKind

        static func < (left: Self, right: Self) -> Bool {
            (left.subject, left.kind.rawValue) < (right.subject, right.kind.rawValue)
        }
    }

    private struct PushHour: Hashable, Comparable {
        let push: Key<Push>
        let hour: Int64

        static func < (left: Self, right: Self) -> Bool { (left.push, left.hour) < (right.push, right.hour) }
    }

    private struct PushBlock: Hashable, Comparable {
        let push: Key<Push>
        let kind: AnalyticsKind
        let platform: Key<Platform>
        let block: Int64

        static func < (left: Self, right: Self) -> Bool {
            (left.push, left.kind, left.platform, left.block) < (right.push, right.kind, right.platform, right.block)
        }
    }

    private struct Told: Hashable {
        let push: UUID
        let report: PushReport
    }

    private struct PushOfEvent {
        let key: Key<Push>
        let acceptedAt: Instant
    }

    init(session: Session, platform: Platform, lateMax: Duration) {
        self.session = session
        self.platform = platform
        acknowledgements = Acknowledgements(session: session, application: platform.applicationKey)
        self.lateMax = lateMax
    }

    mutating func count(_ events: [NamedEvent]) throws -> AnalyticsTally {
        for event in events { try count(event) }
        try write()
        return tally
    }

    private mutating func count(_ named: NamedEvent) throws {
        let event = named.event
        guard
            let countedAt = event.countedAt(now: session.now, lateMax: lateMax),
            try isOurs(named.device),
            let push = try push(of: event),
            try isOurs(event.geofence)
        else {
            tally.ignored += 1
            return
        }
        guard try session.prepared(CountStatements.mark).run(event.time.bucket(of: .day), named.hash) > 0 else {
            tally.repeated += 1
            return
        }
        tally.counted += 1
        onPlatform[Count(subject: countedAt.bucket(of: .hour), kind: event.kind), default: 0] += 1
        let block = DeviceBlock(named.device)
        if let push {
            ofPushes[Count(subject: push.key, kind: event.kind), default: 0] += 1
            if event.kind == .opened {
                openings[PushHour(push: push.key, hour: countedAt.bucket(of: .hour)), default: 0] += 1
            }
            if let report = PushReport(event.kind) {
                try note(report, of: push.key, by: named.device)
                if let receiptID = event.receiptID, session.listeners.wants(report.event, platform.applicationKey) {
                    told[Told(push: receiptID, report: report), default: []].append(event.device)
                }
            }
        }
        if let geofence = event.geofence {
            try countTrigger(of: geofence, at: event.location, countedAt)
            try session.prepared(ReportStatements.addToGeofence).send(
                platform.applicationKey, geofence, platform.key, block.number, block.bits, countedAt)
        }
        if event.kind == .heartbeat { try countBeat(named, of: push, countedAt) }
    }

    private mutating func note(_ report: PushReport, of push: Key<Push>, by device: Key<Device>) throws {
        note(report, of: push, by: device, on: platform.key)
        guard report == .opened, let opened = try acknowledgements.acknowledged(by: device, opening: push) else {
            return
        }
        for other in opened.devices { note(report, of: opened.push, by: other.device, on: other.platform) }
        note(report, of: opened.push, by: device, on: platform.key)
    }

    private mutating func note(
        _ report: PushReport, of push: Key<Push>, by device: Key<Device>, on platform: Key<Platform>
    ) {
        let block = DeviceBlock(device)
        reports[PushBlock(push: push, kind: report.kind, platform: platform, block: block.number), default: 0] |=
            block.bits
    }

    private func isOurs(_ device: Key<Device>) throws -> Bool {
        try session.prepared(DeviceStatements.platform).first(device) { Key($0.integer(0)) == platform.key } ?? false
    }

    private func isOurs(_ geofence: Key<Geofence>?) throws -> Bool {
        guard let geofence else { return true }
        return try session.prepared(CountStatements.geofence).hasRow(geofence, platform.applicationKey)
    }

    /// The push that the event names, nil inside when it names none; nil when the application has no such push.
    private mutating func push(of event: AnalyticsEvent) throws -> PushOfEvent?? {
        guard let receiptID = event.receiptID else { return .some(nil) }
        if let known = pushes[receiptID] { return known.map(Optional.some) }
        let found = try session.prepared(CountStatements.push).first(receiptID, platform.applicationKey) { row in
            PushOfEvent(key: Key(row.integer(0)), acceptedAt: Instant(milliseconds: row.integer(1)))
        }
        pushes[receiptID] = .some(found)
        return found.map(Optional.some)
    }

    private func countTrigger(of geofence: Key<Geofence>, at location: Key<Location>?, _ time: Instant) throws {
        let known = try location.flatMap { try session.db.location($0, of: platform.applicationKey)?.key }
        try session.prepared(CountStatements.addToGeofence).send(
            platform.applicationKey, geofence, known ?? Key(0), platform.key, time)
    }

    private func countBeat(_ named: NamedEvent, of push: PushOfEvent?, _ time: Instant) throws {
        let latency = push.flatMap { named.event.latency(since: $0.acceptedAt) }
        try session.prepared(CountStatements.addHeartbeat).send(
            platform.key, named.device, time, latency?.milliseconds)
    }

    private func write() throws {
        // In the order in which settlements write them.
        let addToPush = try session.prepared(CountStatements.addToPush)
        for (count, events) in ofPushes.sorted(by: { $0.key < $1.key }) {
            try addToPush.send(count.subject, platform.key, count.kind.rawValue, events)
        }
        if !reports.isEmpty {
            let addToPush = try session.prepared(ReportStatements.addToPush)
            for (report, bits) in reports.sorted(by: { $0.key < $1.key }) {
                try addToPush.send(report.push, report.kind.rawValue, report.platform, report.block, bits)
            }
        }
        for (opening, events) in openings.sorted(by: { $0.key < $1.key }) {
            try session.prepared(OpeningStatements.add).send(opening.push, opening.hour, events)
        }
        let addToPlatform = try session.prepared(CountStatements.addToPlatform)
        for (count, events) in onPlatform.sorted(by: { $0.key < $1.key }) {
            try addToPlatform.send(platform.key, count.subject, count.kind.rawValue, events)
        }
        for (told, devices) in told { try session.tell(told.report, of: told.push, by: devices, on: platform) }
    }
}

/// Counts the devices whose message the provider took.
struct SentCounts {
    private struct OfPush: Hashable {
        let push: Key<Push>
        let platform: Key<Platform>
    }

    private var ofPushes: [OfPush: Int] = [:]
    private var onPlatforms: [Key<Platform>: Int] = [:]

    /// The platform's count is written here only if the time that they took is not known; `PlatformActivity` has it otherwise.
    ///
    /// - Parameter isOfPush: whether it is counted for the push too, and not read from the push's batches.
    mutating func add(_ devices: Int, of settlement: Settlement, isOfPush: Bool) {
        guard devices > 0 else { return }
        let batch = settlement.batch
        if isOfPush { ofPushes[OfPush(push: batch.pushKey, platform: batch.platformKey), default: 0] += devices }
        if settlement.acceptedAt == nil { onPlatforms[batch.platformKey, default: 0] += devices }
    }

    /// Counts them for a push alone.
    mutating func add(_ devices: Int, of push: Key<Push>, on platform: Key<Platform>) {
        if devices > 0 { ofPushes[OfPush(push: push, platform: platform), default: 0] += devices }
    }

    func write(in session: some WriteSession) throws {
        let sent = AnalyticsKind.sent.rawValue
        let addToPush = try session.prepared(CountStatements.addToPush)
        for (count, devices) in ofPushes.sorted(by: { ($0.key.push, $0.key.platform) < ($1.key.push, $1.key.platform) })
        {
            try addToPush.send(count.push, count.platform, sent, devices)
        }
        let addToPlatform = try session.prepared(CountStatements.addToPlatform)
        for (platform, devices) in onPlatforms.sorted(by: { $0.key < $1.key }) {
            try addToPlatform.send(platform, session.now.bucket(of: .hour), sent, devices)
        }
    }
}
