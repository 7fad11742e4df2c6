import ArgumentParser
import BelfryService
import Foundation

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt", abstract: "Show the receipt of a push, or the story of one device.",
        discussion: """
            With --device: what was tried and when, what the provider answered in its own words, what comes next, and what helps.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parseReceipt) var receiptID: UUID
    @Option(help: "A device's UUID: show what became of it and why.", transform: UUID.parse) var device: UUID?

    func run() async throws {
        try await backend.withBackend { backend in
            guard let device else { return try await backend.receipt(receiptID).show(json: output.json) }
            let answer: Admin.DeviceAnswerReply = try await backend.read(
                "pushes/\(receiptID.lowercased)/devices/\(device.lowercased)")
            try answer.show(json: output.json)
        }
    }
}

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel the unsent part of a push.",
        discussion: """
            Devices that wait are answered `skipped: cancelled`, and so are those of its audience that it has yet to find. What is \
            being sent at this moment is finished, and not tried again. A push that is done is left as it is. Of a push that waits \
            for its time, `belfry schedule cancel` is the command.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parseReceipt) var receiptID: UUID

    func run() async throws {
        let cancelled: Admin.CancellationReply = try await backend.withBackend {
            try await $0.answer("POST", "pushes/\(receiptID.lowercased)/cancel")
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

struct RetractCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retract", abstract: "Remove a push from the devices that it went to.",
        discussion: """
            What has not left of it is cancelled. Devices that it went to are told to remove it, without a sound: Apple's devices, Android \
            by Firebase, and browsers, where the app has the SDK or does what docs/Pushing.md says. `belfry push --update` puts \
            another message in its place.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parseReceipt) var receiptID: UUID

    func run() async throws {
        let retracted: Admin.FollowingReply = try await backend.withBackend {
            try await $0.answer("POST", "pushes/\(receiptID.lowercased)/retract")
        }
        if output.json { return try Output.json(retracted) }
        retracted.show("told to remove it")
        if retracted.cancelled.devices > 0 {
            print("cancelled: \(retracted.cancelled.devices.grouped) devices are not sent to")
        }
    }
}

extension Admin.FollowingReply {
    /// - Parameter what: is done with the devices.
    func show(_ what: String) {
        if let receipt_id { Output.fields([("receipt_id", receipt_id)]) }
        print("\(devices.grouped) devices are \(what)")
        if other_devices > 0 {
            print("\(other_devices.grouped) devices are left as they are: their platforms cannot")
        }
    }
}

struct WriteOffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write-off", abstract: "Write off the unreadable rows of a push.",
        discussion: """
            A push whose state is `damaged` waits for rows that the database cannot give back. First find out why, and whether \
            a backup has them: docs/Operations.md, "a damaged batch". Written off, the devices of its batches are answered \
            `skipped: damaged`, and the push settles. Where the push itself cannot be read, that is all of its open batches, and \
            those whom it had not come to yet are not told. What was mended meanwhile is left alone.
            """)

    @OptionGroup var backend: BackendOptions
    @Argument(help: "The receipt's id.", transform: UUID.parse) var receiptID: UUID

    func run() async throws {
        let id = receiptID.lowercased
        let writeOff: Admin.WriteOffReply = try await backend.withBackend {
            try await AdminThing(backend: $0, path: "pushes/\(id)", name: "receipt \(id)").answer("POST", "/write-off")
        }
        guard writeOff.devices > 0 || writeOff.fan_outs > 0 else { return print("nothing is damaged") }
        let rest =
            writeOff.fan_outs > 0 ? ", and whom it had not come to yet on \(writeOff.fan_outs.grouped) platforms" : ""
        print("written off: \(writeOff.devices.grouped) devices\(rest)")
    }
}
