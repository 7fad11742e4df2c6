import BelfryCore

extension AdminKey.Bounds {
    /// As two columns hold them: an application's bounds name its tenant too.
    init(tenant: Key<Tenant>?, application: Key<Application>?) {
        switch (tenant, application) {
        case (let tenant?, let application?): self = .application(application, of: tenant)
        case (let tenant?, nil): self = .tenant(tenant)
        case (nil, _): self = .everything
        }
    }

    var tenant: Key<Tenant>? {
        switch self {
        case .everything: nil
        case .tenant(let tenant), .application(_, let tenant): tenant
        }
    }

    var application: Key<Application>? {
        if case .application(let application, _) = self { application } else { nil }
    }
}
