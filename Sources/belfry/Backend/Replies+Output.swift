import BelfryAPI
import BelfryCore

/// An application and its platforms, from the replies of the admin API.
struct ApplicationDetails: Encodable {
    let application: Admin.ApplicationReply
    let platforms: [Admin.PlatformReply]
}

extension Admin.PlatformReply {
    /// `active`, or `parked` and the reason.
    var stateAndCause: String { parked.first.map { "parked (\($0.cause)): \($0.detail)" } ?? state }

    var published: [(String, String)] { `public`.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

extension Admin.ReceiptReply {
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
        for parking in parked { fields.append(("parked", "\(parking.cause): \(parking.detail)")) }
        for fault in connection_faults ?? [] { fields.append(("unreachable", "\(fault.fault): \(fault.detail)")) }
        if damaged_batches > 0 { fields.append(("damaged_batches", damaged_batches.grouped)) }
        if damaged_fan_outs > 0 { fields.append(("damaged_fan_outs", damaged_fan_outs.grouped)) }
        Output.fields(fields)
    }
}
