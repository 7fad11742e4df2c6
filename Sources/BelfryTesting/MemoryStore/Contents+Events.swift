import BelfryService

extension Contents {
    /// The events that apps reported, as counts.
    package struct Events: Sendable {
        var marks: Set<Mark> = []
        var pushes: [Key<Push>: [Key<Platform>: AnalyticsCounts]] = [:]
        var hours: [Key<Platform>: [Int64: AnalyticsCounts]] = [:]
        var triggers: [Key<Application>: [GeofenceTriggers.Spot: GeofenceTriggers]] = [:]
        var heartbeats: [Key<Platform>: [Key<Device>: Heartbeat]] = [:]

        package init() {}
    }

    struct Mark: Hashable {
        let day: Int64
        let identity: [UInt8]
    }
}

extension Contents.Events {
    mutating func count(_ kind: AnalyticsKind, of push: Key<Push>?, on platform: Key<Platform>, at time: Instant) {
        if let push { pushes[push, default: [:]][platform, default: [:]].add(1, to: kind) }
        hours[platform, default: [:]][time.bucket(of: .hour), default: [:]].add(1, to: kind)
    }

    mutating func remove(_ application: Key<Application>, platforms: Set<Key<Platform>>) {
        triggers[application] = nil
        for platform in platforms { (hours[platform], heartbeats[platform]) = (nil, nil) }
        pushes = pushes.filter { platforms.isDisjoint(with: $0.value.keys) }
    }
}

extension Contents {
    /// nil when the event does not belong to the platform; otherwise whether it is new.
    mutating func count(
        _ event: AnalyticsEvent, on platform: Platform, now: Instant, lateMax: Duration
    ) -> Bool? {
        guard
            let countedAt = event.countedAt(now: now, lateMax: lateMax),
            let device = device(event.device, on: platform.key)
        else { return nil }
        let push = event.receiptID.flatMap { id in pushes.values.first { $0.push.receiptID == id }?.push }
        if event.receiptID != nil, push?.applicationKey != platform.applicationKey { return nil }
        if let geofence = event.geofence, map.geofences[geofence]?.application != platform.applicationKey { return nil }
        let mark = Mark(day: event.time.bucket(of: .day), identity: event.identity)
        guard events.marks.insert(mark).inserted else { return false }
        events.count(event.kind, of: push?.key, on: platform.key, at: countedAt)
        if let geofence = event.geofence { countTrigger(of: geofence, event, on: platform, at: countedAt) }
        if event.kind == .heartbeat {
            let latency = push.flatMap { event.latency(since: $0.acceptedAt) }
            countBeat(of: device.key, latency: latency, on: platform.key, at: countedAt)
        }
        return true
    }

    private mutating func countTrigger(
        of geofence: Key<Geofence>, _ event: AnalyticsEvent, on platform: Platform, at time: Instant
    ) {
        let application = platform.applicationKey
        let location = event.location.flatMap { map.locations[$0]?.application == application ? $0 : nil }
        let spot = GeofenceTriggers.Spot(geofence: geofence, location: location, platform: platform.key)
        let old = events.triggers[application]?[spot]
        events.triggers[application, default: [:]][spot] = GeofenceTriggers(
            spot: spot, count: (old?.count ?? 0) + 1, lastAt: max(old?.lastAt ?? time, time))
    }

    private mutating func countBeat(
        of device: Key<Device>, latency: Duration?, on platform: Key<Platform>, at time: Instant
    ) {
        let old = events.heartbeats[platform]?[device]
        let isLast = old.map { time >= $0.lastAt } ?? true
        events.heartbeats[platform, default: [:]][device] = Heartbeat(
            device: device, lastAt: isLast ? time : old?.lastAt ?? time, count: (old?.count ?? 0) + 1,
            latency: isLast ? latency : old?.latency)
    }
}

extension Dictionary where Value == Int64 {
    fileprivate mutating func add(_ amount: Int64, to key: Key) { self[key, default: 0] += amount }
}
