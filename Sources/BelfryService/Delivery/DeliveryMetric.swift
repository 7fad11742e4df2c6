import Metrics

/// The metrics of the delivery; docs/Metrics.md explains them.
enum DeliveryMetric {
    private static let devicesFannedOut = Counter(label: "belfry_devices_fanned_out_total")
    private static let batchesInFlight = Meter(label: "belfry_batches_in_flight")
    private static let batchesSettled = Counter(label: "belfry_batches_settled_total")
    private static let leasesLost = Counter(label: "belfry_leases_lost_total")
    private static let faults = Counter(label: "belfry_delivery_faults_total")
    private static let platformsParked = Counter(label: "belfry_platforms_parked_total")
    private static let devicesDeactivated = Counter(label: "belfry_devices_deactivated_total")

    private static let mirrorBacklogGauge = Meter(label: "belfry_mirror_backlog_entries")
    private static let platformsParkedNow = Meter(label: "belfry_platforms_parked")
    private static let servicesParkedNow = Meter(label: "belfry_push_services_parked")
    private static let probes = Dictionary(
        uniqueKeysWithValues: [true, false].map { isAccepted in
            let result = isAccepted ? "accepted" : "refused"
            return (isAccepted, Counter(label: "belfry_credentials_probes_total", dimensions: [("result", result)]))
        })
    private static let oldestBatchAge = Meter(label: "belfry_oldest_due_batch_seconds")

    private static let schedulesLate = Timer(label: "belfry_schedule_late_seconds")
    private static let heartbeatAges = byPlatform { Meter(label: "belfry_heartbeat_age_seconds", dimensions: $0) }
    private static let schedulesEnded = Dictionary(
        uniqueKeysWithValues: ["sent", "expired", "refused", "missed", "started"].map { ending in
            (ending, Counter(label: "belfry_schedules_ended_total", dimensions: [("ending", ending)]))
        })
    private static let geofenceUpdates = Counter(label: "belfry_geofence_updates_total")

    private static let deliveries = byLane { lane in
        byPlatform { Timer(label: "belfry_push_delivery_seconds", dimensions: lane + $0) }
    }
    private static let batchAges = byLane { Timer(label: "belfry_batch_age_seconds", dimensions: $0) }
    private static let sends = byPlatform { Timer(label: "belfry_provider_send_duration_seconds", dimensions: $0) }

    private static let deletedRows = Dictionary(
        uniqueKeysWithValues: Retention.Kind.measured.map { kind in
            (kind, Counter(label: "belfry_rows_deleted_total", dimensions: [("kind", kind.rawValue)]))
        })

    private struct Connection: Hashable {
        let type: PlatformKind
        let fault: ConnectionFault.Kind
    }

    private static let connectionFaults: [Connection: Counter] = {
        let all = PlatformKind.allCases.flatMap { type in
            ConnectionFault.Kind.allCases.map { Connection(type: type, fault: $0) }
        }
        return Dictionary(
            uniqueKeysWithValues: all.map { connection in
                let labels = [("type", connection.type.rawValue), ("fault", connection.fault.rawValue)]
                return (connection, Counter(label: "belfry_provider_connection_faults_total", dimensions: labels))
            })
    }()

    private static let answers: [Answer: Counter] = {
        // What is pending is no answer.
        let all = (UInt8.min...UInt8.max).compactMap(Answer.init(code:)).filter { $0 != .pending }
        return Dictionary(
            uniqueKeysWithValues: all.map { answer in
                (answer, Counter(label: "belfry_devices_answered_total", dimensions: [("answer", answer.name)]))
            })
    }()

    /// Counts a device that waits because its provider cannot be connected to.
    static func unreachable(_ type: PlatformKind, _ fault: ConnectionFault.Kind) {
        connectionFaults[Connection(type: type, fault: fault)]?.increment()
    }

    private static func byLane<T>(_ make: ([(String, String)]) -> T) -> [Lane: T] {
        Dictionary(uniqueKeysWithValues: Lane.allCases.map { ($0, make([("lane", "\($0)")])) })
    }

    private static func byPlatform<T>(_ make: ([(String, String)]) -> T) -> [PlatformKind: T] {
        Dictionary(uniqueKeysWithValues: PlatformKind.allCases.map { ($0, make([("platform", $0.rawValue)])) })
    }

    static func fanOut(_ devices: Int) { devicesFannedOut.increment(by: devices) }
    static func batchesInFlight(changedBy count: Int) { batchesInFlight.increment(by: Double(count)) }
    static func leaseLost() { leasesLost.increment() }
    static func fault() { faults.increment() }
    static func heartbeatAge(of kind: PlatformKind, _ age: Duration) {
        heartbeatAges[kind]?.set(Double(age.milliseconds) / 1_000)
    }
    static func mirrorBacklog(_ entries: Int) { mirrorBacklogGauge.set(entries) }
    static func backlog(parked: Int, services: Int, oldest: Duration) {
        platformsParkedNow.set(parked)
        servicesParkedNow.set(services)
        oldestBatchAge.set(Double(oldest.milliseconds) / 1_000)
    }
    static func parked() { platformsParked.increment() }
    /// An attempt with credentials that were refused.
    static func probed(isAccepted: Bool) { probes[isAccepted]?.increment() }
    static func geofencesAnnounced() { geofenceUpdates.increment() }
    static func rowsDeleted(_ kind: Retention.Kind, _ rows: Int) { deletedRows[kind]?.increment(by: rows) }

    /// - Parameter ending: one of the names of `Schedule.How`.
    static func scheduleEnded(_ ending: String, after lateness: Duration) {
        schedulesEnded[ending]?.increment()
        if ending == "sent" { schedulesLate.recordMilliseconds(max(0, lateness.milliseconds)) }
    }

    /// - Parameter age: since its push was accepted.
    static func batchTaken(in lane: Lane, age: Duration) { batchAges[lane]?.record(duration: max(.zero, age)) }

    /// - Parameter duration: of one call of the provider.
    static func sent(to kind: PlatformKind, in duration: Duration) { sends[kind]?.record(duration: duration) }

    /// All devices of a batch have their answers.
    ///
    /// - Parameter duration: since its push was accepted.
    static func delivered(in lane: Lane, to kind: PlatformKind, after duration: Duration) {
        deliveries[lane]?[kind]?.record(duration: max(.zero, duration))
    }

    static func settled(_ settlement: Settlement) {
        for (answer, count) in settlement.counts { answers[answer]?.increment(by: count) }
        devicesDeactivated.increment(by: settlement.deactivations)
        if settlement.retryAt == nil { batchesSettled.increment() }
    }

    /// Makes all series, so that the page shows them from the start with 0.
    static func declare() {
        let plain: [Any] = [
            devicesFannedOut, batchesInFlight, batchesSettled, leasesLost, faults, platformsParked, devicesDeactivated,
            mirrorBacklogGauge, platformsParkedNow, servicesParkedNow, oldestBatchAge, schedulesLate, geofenceUpdates,
        ]
        let labelled = [
            heartbeatAges.count, schedulesEnded.count, deliveries.count, batchAges.count, sends.count,
            deletedRows.count,
            connectionFaults.count, answers.count, probes.count,
        ]
        precondition(!plain.isEmpty && !labelled.contains(0), "every metric has a series")
    }
}
