package android.content;

import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.content.res.Resources;
import java.io.File;

public class ContextWrapper extends Context {
    public Context getApplicationContext() { throw new UnsupportedOperationException(); }
    public ApplicationInfo getApplicationInfo() { throw new UnsupportedOperationException(); }
    public String getPackageName() { throw new UnsupportedOperationException(); }
    public PackageManager getPackageManager() { throw new UnsupportedOperationException(); }
    public Resources getResources() { throw new UnsupportedOperationException(); }
    public File getNoBackupFilesDir() { throw new UnsupportedOperationException(); }
    public <T> T getSystemService(Class<T> type) { throw new UnsupportedOperationException(); }
    public void startActivity(Intent intent) {}
}
