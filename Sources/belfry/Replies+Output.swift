import BelfryService
import Foundation

/// An application and its platforms, from the replies of the admin API.
struct ApplicationDetails: Encodable {
    let application: Admin.ApplicationReply
    let platforms: [Admin.PlatformReply]
}

extension Admin.PlatformReply {
    /// `active`, or `parked` and the reason.
    var stateAndCause: String {
        let own =
            parked.first.map { "parked (\($0.cause)): \($0.detail)\(Parking.nextProbe($0.next_probe_at))" } ?? state
        return
            ([own] + parked_services.map { "\($0.service) parked: \($0.detail)\(Parking.nextProbe($0.next_probe_at))" })
            .joined(separator: "; ")
    }

    /// The state, for a column.
    var stateInShort: String {
        if let parked = parked.first { return "parked (\(parked.cause))" }
        return parked_services.isEmpty ? state : "\(state), \(parked_services.count) services parked"
    }

    /// The active ones, of all.
    var devicesInWords: String {
        guard let inactive_devices else { return "\(devices.grouped), inactive ones included" }
        return inactive_devices == 0
            ? devices.grouped : "\((devices - inactive_devices).grouped) active of \(devices.grouped)"
    }

    var published: [(String, String)] { `public`.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

extension Admin.ReceiptReply {
    var isSettled: Bool { state == Receipt.State.settled.rawValue }
    private var isDamaged: Bool { damaged_batches > 0 || damaged_fan_outs > 0 }
    /// Whether a part of it waits until a person acts.
    var needsPerson: Bool { !parked.isEmpty || isDamaged }
    /// How many devices there are, as far as that is known.
    private var audience: String {
        if fanned_out { return devices.grouped }
        return "\(devices.grouped) so far: "
            + (parked.isEmpty
                ? "the audience is still being looked up"
                : "devices of a parked platform are looked up once it is resumed")
    }
    /// Why providers could not be connected to.
    var faults: [String] { (connection_faults ?? []).map { "\($0.fault): \($0.detail)" } }
    /// Devices that have their final answer.
    var answered: Int { devices - counts[Answer.pending.name, default: 0] }

    func show(json: Bool) throws {
        if json { return try Output.json(self) }
        var fields = [("receipt_id", receipt_id), ("state", state), ("devices", audience)]
        for (name, count) in counts.sorted(by: { $0.value > $1.value }) { fields.append((name, count.grouped)) }
        fields.append(("accepted_at", accepted_at))
        if let first_answer_at { fields.append(("first_answer_at", first_answer_at)) }
        if let settled_at { fields.append(("settled_at", settled_at)) }
        for platform in parked {
            fields.append(
                ("parked", "platform \(platform.platform_uuid) (\(platform.platform_name)) since \(platform.since)"))
            fields.append(("reason", "\(platform.cause): \(platform.detail)"))
            if let at = platform.next_probe_at { fields.append(("next_probe_at", at)) }
            for (place, command) in platform.remedy.components(separatedBy: "; ").enumerated() {
                fields.append((place == 0 ? "help" : "", command))
            }
        }
        for words in faults { fields.append(("unreachable", words)) }
        for words in provider_words ?? [] { fields.append(("provider", words)) }
        for words in waits ?? [] { fields.append(("waits", words)) }
        fields += unmatched?.fields ?? []
        if damaged_batches > 0 { fields.append(("damaged_batches", damaged_batches.grouped)) }
        if damaged_fan_outs > 0 { fields.append(("damaged_fan_outs", damaged_fan_outs.grouped)) }
        if isDamaged { fields.append(("help", "belfry write-off \(receipt_id), where no backup has the rows")) }
        Output.fields(fields)
    }
}

extension Admin.NodeReply {
    /// The state, and since when nothing was heard of it where heartbeats are missing.
    var stateInWords: String {
        guard silent_seconds > Node.silentAfter.components.seconds else { return state }
        return "\(state), not seen for \(Self.words(silent_seconds))"
    }

    private static func words(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}

extension Admin.UnmatchedReply {
    /// A sentence for each kind of name.
    var warnings: [String] {
        var warnings: [String] = []
        if device_count > 0 { warnings.append("there is no device \(devices.joined(separator: ", "))") }
        if !topics.isEmpty { warnings.append("nobody subscribes to \(topics.joined(separator: ", "))") }
        if !custom_user_ids.isEmpty {
            warnings.append("no device has the user \(custom_user_ids.joined(separator: ", "))")
        }
        return warnings
    }

    /// Names that matched nothing, a line for each kind of name.
    fileprivate var fields: [(String, String)] {
        var fields: [(String, String)] = []
        if device_count > 0 {
            let more = device_count - devices.count
            fields.append(
                ("unknown devices", devices.joined(separator: ", ") + (more > 0 ? " and \(more.grouped) more" : "")))
        }
        if !topics.isEmpty { fields.append(("topics without subscribers", topics.joined(separator: ", "))) }
        if !custom_user_ids.isEmpty { fields.append(("unknown users", custom_user_ids.joined(separator: ", "))) }
        return fields
    }
}

extension Admin.DeviceAnswerReply {
    func show(json: Bool) throws {
        if json { return try Output.json(self) }
        var fields = [
            ("device_uuid", device_uuid), ("answer", answer),
            ("platform", "\(platform_uuid) (\(platform_type), \(platform_name))"),
            ("active", is_active ? "yes" : "no: it gets no pushes"),
        ]
        for attempt in attempts { fields.append(("attempt \(attempt.number)", "\(attempt.at)  \(attempt.answer)")) }
        if attempts.isEmpty, attempt_count > 0 {
            fields.append(("taken up", attempt_count == 1 ? "once" : "\(attempt_count) times"))
        }
        if let answered_at { fields.append(("answered_at", answered_at)) }
        fields.append(("next", next))
        if let help { fields.append(("help", help)) }
        Output.fields(fields)
    }
}
