import ArgumentParser
import BelfryCore
import BelfryServer
import Foundation

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt", abstract: "Show what became of a push, or of one device of it.")

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parse) var receiptID: UUID
    @Option(help: "A device's UUID: show its answer alone.", transform: UUID.parse) var device: UUID?

    func run() async throws {
        try await common.withAdministration { administration in
            guard let receipt = try await administration.store.receipt(receiptID) else {
                throw StoreError.unknown("receipt \(receiptID.lowercased)")
            }
            guard let device else { return try ReceiptPage(receipt).show(json: output.json) }
            let answer = try await self.answer(of: device, in: receipt.push, administration)
            if output.json {
                try Output.json(["device_uuid": device.lowercased, "answer": answer.name])
            } else {
                print(answer.name)
            }
        }
    }

    private func answer(of device: UUID, in push: Push, _ administration: Administration) async throws -> Answer {
        let platforms = try await administration.store.platforms(of: push.applicationKey).map(\.key)
        guard let key = try await administration.store.deviceKeys([device], on: platforms).first,
            let answer = try await administration.store.answer(of: key, in: push.key)
        else { throw StoreError.unknown("device \(device.lowercased) in this push") }
        return answer
    }
}

/// A receipt as people and scripts see it.
struct ReceiptPage: Encodable {
    let receipt_id: String
    let state: String
    let devices: Int
    /// By the answer's name, the reason behind a colon.
    let counts: [String: Int]
    let accepted_at: String
    let first_answer_at: String?
    let settled_at: String?
    let parked: [String]

    init(_ receipt: Receipt) {
        receipt_id = receipt.push.receiptID.lowercased
        state = receipt.state.rawValue
        devices = receipt.devices
        counts = Dictionary(
            uniqueKeysWithValues: receipt.counts.filter { $0.value > 0 }.map { ($0.key.name, $0.value) })
        accepted_at = receipt.push.acceptedAt.text
        first_answer_at = receipt.firstAnswerAt?.text
        settled_at = receipt.settledAt?.text
        parked = receipt.parked.map { "\($0.cause): \($0.detail)" }
    }

    func show(json: Bool) throws {
        if json { return try Output.json(self) }
        var fields = [("receipt_id", receipt_id), ("state", state), ("devices", devices.grouped)]
        for (name, count) in counts.sorted(by: { $0.value > $1.value }) { fields.append((name, count.grouped)) }
        fields.append(("accepted_at", accepted_at))
        if let first_answer_at { fields.append(("first_answer_at", first_answer_at)) }
        if let settled_at { fields.append(("settled_at", settled_at)) }
        for reason in parked { fields.append(("parked", reason)) }
        Output.fields(fields)
    }
}
