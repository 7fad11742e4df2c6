import BelfryCore
import FoundationEssentials

// What commands print, as scripts see it.

struct CreatedApplicationRow: Codable {
    let app_uuid: String
    let api_key: String
    let shared_secret: String
}

struct CreatedPlatformRow: Codable {
    let platform_uuid: String
    let platform_secret: String
    /// The public part of its credentials, such as the VAPID public key that was made.
    let `public`: [String: String]
}

struct ApplicationRow: Codable {
    let app_uuid: String
    let name: String
    let created_at: String
}

struct ApplicationDetails: Encodable {
    let application: ApplicationRow
    let platforms: [PlatformRow]
}

struct PlatformRow: Encodable {
    let platform_uuid: String
    let type: String
    let mode: String
    let name: String
    let devices: Int
    /// `active`, or `parked` and why.
    let state: String
    /// The public part of its credentials.
    let `public`: [String: String]
    let credentials_expire_at: String?

    var published: [(String, String)] { `public`.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

struct ReceiptDetails: Encodable {
    let receipt_id: String
    let state: String
    let devices: Int
    /// By the answer's name, the reason behind a colon.
    let counts: [String: Int]
    let accepted_at: String
    let first_answer_at: String?
    let settled_at: String?
    let parked: [String]
    /// Why providers could not be connected to where devices wait.
    let connection_faults: [String]
    /// Batches that cannot be read: see `belfry write-off`.
    let damaged_batches: Int
    /// Platforms where its audience cannot be looked for, since the push itself cannot be read.
    let damaged_fan_outs: Int

    var isSettled: Bool { state == Receipt.State.settled.rawValue }
    var isFannedOut: Bool { state != Receipt.State.fanningOut.rawValue }
    /// Devices that have their final answer.
    var answered: Int { devices - counts[Answer.pending.name, default: 0] }

    func show(json: Bool) throws {
        if json { return try Output.json(self) }
        var fields = [("receipt_id", receipt_id), ("state", state), ("devices", devices.grouped)]
        for (name, count) in counts.sorted(by: { $0.value > $1.value }) { fields.append((name, count.grouped)) }
        fields.append(("accepted_at", accepted_at))
        if let first_answer_at { fields.append(("first_answer_at", first_answer_at)) }
        if let settled_at { fields.append(("settled_at", settled_at)) }
        for reason in parked { fields.append(("parked", reason)) }
        for fault in connection_faults { fields.append(("unreachable", fault)) }
        if damaged_batches > 0 { fields.append(("damaged_batches", damaged_batches.grouped)) }
        if damaged_fan_outs > 0 { fields.append(("damaged_fan_outs", damaged_fan_outs.grouped)) }
        Output.fields(fields)
    }
}

/// What a provider says of credentials.
struct CredentialsTestRow: Codable {
    let result: String
    let detail: String?
}

struct CreatedChannelRow: Codable {
    let channel_id: String
    let storage: String
    let device_uuid: String
}

struct ChannelRow: Codable {
    let channel_id: String
    let storage: String
}

/// A node that serves.
struct NodeRow: Codable {
    let node_uuid: String
    let host: String
    let version: String
    let state: String
    let batches_in_flight: Int
    let since: String
    let last_seen_at: String
}
