package import FoundationEssentials

extension DeviceStore where Self: ApplicationStore {
    /// A device of an application, on whichever of its platforms it is.
    package func device(
        _ uuid: UUID, of application: Key<Application>
    ) async throws -> (device: Device, platform: Platform)? {
        for platform in try await platforms(of: application) {
            if let device = try await device(uuid, on: platform.key) { return (device, platform) }
        }
        return nil
    }
}
