import ArgumentParser
import BelfryAPI
import BelfryService
import Foundation

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel what has not left of a push.",
        discussion: """
            Devices that wait are answered `skipped: cancelled`, and so are those of its audience that it has yet to find. What is \
            being sent at this moment is finished, and not tried again. A push that is done is left as it is. Of a push that waits \
            for its time, `belfry schedule cancel` is the command.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parseReceipt) var receiptID: UUID

    func run() async throws {
        let cancelled: Admin.CancellationReply = try await backend.withBackend { backend in
            let reply = try await backend.ask("POST", "pushes/\(receiptID.lowercased)/cancel", nil) ?? .null
            return try JSONDecoder().decode(Admin.CancellationReply.self, from: Data(reply.encoded))
        }
        if output.json { return try Output.json(cancelled) }
        guard cancelled.devices + cancelled.devices_in_flight + cancelled.fan_outs > 0 else {
            return print("nothing is left to cancel")
        }
        print("cancelled: \(cancelled.devices.grouped) devices are not sent to")
        if cancelled.devices_in_flight > 0 {
            print("\(cancelled.devices_in_flight.grouped) devices are being sent to now, or were by a node that died")
        }
        if cancelled.fan_outs > 0 {
            print("the rest of the audience, on \(cancelled.fan_outs.grouped) platforms, is not sent to either")
        }
    }
}
