public import Foundation

/// Reports pushes from a notification service extension. It shares the app's folder in the app group, where the app takes over reports
/// that the extension could not send.
public struct ExtensionReports: Sendable {
    private let client: Client
    private let file: StateFile
    private let folder: ReportFolder
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - configuration: that of the app.
    ///   - transport: sends requests.
    ///   - clock: milliseconds since 1970.
    public init(
        _ configuration: BelfryConfiguration, transport: any Transport = URLSessionTransport(),
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }
    ) {
        client = Client(configuration: configuration, transport: transport)
        file = StateFile(in: configuration.folder)
        folder = ReportFolder(in: configuration.folder)
        self.clock = clock
    }

    /// Notes that a push arrived. It is counted once, whether the app notes it too or not.
    public func received(_ message: PushMessage) throws(BelfryError) {
        let state = file.read()
        guard state?.knows(message) != true else { return }
        let event = StoredEvent(
            kind: .received, receiptID: message.receiptID, time: clock(), device: state?.device)
        try folder.put(ReportFolder.Report(message: message, event: event))
    }

    /// Reports noted pushes. The app takes over those that cannot be sent now, and those with times of a wrong clock.
    ///
    /// Where this ends before the answer, the app reports it again in the same words, and the server knows a repetition.
    public func send() async throws(BelfryError) {
        let waiting = folder.files().filter { !$0.isSent && $0.report.event.device != nil }
        guard !waiting.isEmpty else { return }
        if let seconds = file.read()?.secondsHeld(at: clock()) { throw .busy(retryAfter: seconds) }
        let now = try await client.serverTime() ?? clock()
        let counted = waiting.filter { Belfry.counted(at: now).contains($0.report.event.time) }
        guard !counted.isEmpty else { return }
        try await client.report(counted.map(\.report.event))
        for file in counted { folder.markSent(file) }
    }
}
