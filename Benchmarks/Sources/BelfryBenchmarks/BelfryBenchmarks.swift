import ArgumentParser

@main
struct BelfryBenchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure Belfry against references within one run, and print one table.",
        subcommands: [
            Measure.self, Soak.self, ClientRole.self, FCMClientRole.self, WebPushRole.self,
            PostingRole.self, DecoderRole.self, DeviceLinesRole.self,
        ],
        defaultSubcommand: Measure.self)
}
